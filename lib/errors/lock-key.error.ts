import { LockError, LockErrorCode } from './lock.error.js';

/** The key cannot be told from what was given. The body has not run. */
export class LockKeyError extends LockError {
  readonly code = LockErrorCode.Key;
  readonly statusCode = 500;
}
