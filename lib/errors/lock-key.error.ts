import { LockError, LockErrorCode } from './lock.error.js';

/** The key cannot be told from what was given. Nothing was locked, and no body has run. */
export class LockKeyError extends LockError {
  readonly code = LockErrorCode.Key;
  readonly statusCode = 500;
}
