import { LockError, LockErrorCode } from './lock.error.js';

/** Something was configured or used wrongly. The message names the value, the place and the fix. */
export class LockOptionsError extends LockError {
  readonly code = LockErrorCode.Options;
  readonly statusCode = 500;
  /** Waiting does not mend a configuration: a store that fails with this ends every wait at once. */
  readonly retryable = false;

  constructor(message: string, cause?: unknown) {
    super(message, undefined, cause);
  }
}
