import { isLockError, LockErrorCode } from '../errors/index.js';
import { codeOf } from '../observability/error-code.js';

/** How a wait ended, for a span. */
export interface Failure {
  /** `refused`: the caller no longer wanted the lock, or the application shuts down. */
  readonly outcome: 'contended' | 'unavailable' | 'refused';
  /** Absent where nothing went wrong. */
  readonly error?: { readonly name: string; readonly code: string; readonly message: string };
}

/**
 * What may be exported of the error that a wait ended with: its kind, and the code of what caused it. Its message names the
 * key, and that of its cause may hold anything that a server says.
 */
export function failureOf(reason: unknown): Failure {
  // Daily life: a cron job that another instance runs fails nobody. Where it does fail a call, that call's own span says so.
  if (isLockError(reason, LockErrorCode.Contended)) return { outcome: 'contended' };
  if (!isLockError(reason, LockErrorCode.Unavailable)) return { outcome: 'refused' };
  const cause = codeOf(reason.cause);
  const message = `the store did not answer${cause === undefined ? '' : ` (${cause})`}`;
  return { outcome: 'unavailable', error: { name: reason.name, code: reason.code, message } };
}
