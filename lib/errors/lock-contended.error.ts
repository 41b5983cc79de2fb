import { LockError, LockErrorCode } from './lock.error.js';

export interface Contention {
  readonly key: string;
  /** The label of the holding process, where the store tells. */
  readonly holder?: string | undefined;
  /** ms spent waiting. */
  readonly waited: number;
  /** Set when the local queue was full, so that the call did not even start to wait. */
  readonly maxWaiters?: number | undefined;
}

/** Somebody else holds the key, and it did not become free within `wait`. */
export class LockContendedError extends LockError {
  readonly code = LockErrorCode.Contended;
  readonly statusCode = 423;
  /** Seconds after which a new try makes sense; sent as `Retry-After`. */
  readonly retryAfter = 1;
  readonly holder: string | undefined;
  /** ms spent waiting. */
  readonly waited: number;

  constructor({ key, holder, waited, maxWaiters }: Contention) {
    // The holder stays out of the message, which Nest 10 and 11 send to HTTP clients.
    super(
      maxWaiters === undefined
        ? `"${key}" is locked by another owner; gave up after ${Math.round(waited)} ms`
        : `"${key}" is locked by another owner, and ${maxWaiters} callers of this process wait for it already (maxWaiters)`,
      key,
    );
    this.holder = holder;
    this.waited = waited;
  }
}
