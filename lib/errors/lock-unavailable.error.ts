import { LockError, LockErrorCode } from './lock.error.js';

/** The store did not answer, or answered with an error: nobody knows whether the key is free. `cause` has the reason. */
export class LockUnavailableError extends LockError {
  readonly code = LockErrorCode.Unavailable;
  readonly statusCode = 503;
  /** Seconds after which a new try makes sense; sent as `Retry-After`. */
  readonly retryAfter = 1;

  constructor(
    reason: string,
    options: {
      readonly key?: string | undefined;
      readonly cause?: unknown;
      /** `false`: trying again cannot help until somebody changes the configuration. */
      readonly retryable?: boolean;
    } = {},
  ) {
    super(reason, options.key, options.cause);
    this.retryable = options.retryable ?? true;
  }

  readonly retryable: boolean;
}
