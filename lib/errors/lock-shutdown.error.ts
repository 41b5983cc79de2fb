import { LockError, LockErrorCode } from './lock.error.js';

/** The application is shutting down and takes no new locks. */
export class LockShutdownError extends LockError {
  readonly code = LockErrorCode.Shutdown;
  readonly statusCode = 503;
  /** Seconds after which a new try makes sense; sent as `Retry-After`. */
  readonly retryAfter = 1;

  constructor(key?: string) {
    super(
      `${key === undefined ? 'The lock module' : `"${key}" was not locked: the lock module`} is shutting down`,
      key,
    );
  }
}
