import { LockError, LockErrorCode } from './lock.error.js';

/** The lock ended before its holder gave it back. From here on somebody else may hold the key. */
export class LockLostError extends LockError {
  readonly code = LockErrorCode.Lost;
  readonly statusCode = 500;
  /** What the body had returned when `onLost: 'throw'` turned the loss into this error. */
  declare readonly result: unknown;

  constructor(
    key: string,
    readonly reason: string,
    cause?: unknown,
    result?: unknown,
  ) {
    super(`The lock on "${key}" is not held any more: ${reason}`, key, cause);
    // Not enumerable, so that a logged error does not spill business data.
    Object.defineProperty(this, 'result', { value: result, enumerable: false });
  }
}
