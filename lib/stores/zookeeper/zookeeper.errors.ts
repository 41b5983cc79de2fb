import { isLockError, LockUnavailableError, type LockError } from '../../errors/index.js';

/** Codes of the protocol. */
export const ZK = {
  connectionLoss: -4,
  noNode: -101,
  noAuth: -102,
  nodeExists: -110,
  sessionExpired: -112,
  invalidAcl: -114,
  authFailed: -115,
} as const;

// Trying again cannot help until somebody changes the configuration.
const PERMANENT: readonly number[] = [ZK.noAuth, ZK.invalidAcl, ZK.authFailed, -6, -8];

/** Codes above this are the library's or the connection's: whether the server has carried the request out is unknown. */
const FIRST_ANSWER = -100;

export function codeOf(error: unknown): number | undefined {
  const { code } = Object(error) as { code?: unknown };
  return typeof code === 'number' ? code : undefined;
}

/** Whether a request that failed so may have been carried out, or be carried out yet. */
export function isUnknown(error: unknown): boolean {
  const code = codeOf(error);
  return code === undefined || code > FIRST_ANSWER;
}

/** What the library threw, as our error. */
export function unavailable(address: string, error: unknown): LockError {
  if (isLockError(error)) return error;
  const code = codeOf(error);
  const text = error instanceof Error ? error.message.replace(/^Exception: /, '') : String(error);
  return new LockUnavailableError(`zookeeper at ${address}: ${text}${hint(code)}`, {
    cause: error,
    retryable: code === undefined || !PERMANENT.includes(code),
  });
}

function hint(code: number | undefined): string {
  if (code === ZK.noAuth)
    return ' (its user may not do this below the root of the locks: see the options acl and auth)';
  if (code === ZK.invalidAcl) return ' (an ACL for its creator needs a client that has been authenticated: see auth)';
  return '';
}
