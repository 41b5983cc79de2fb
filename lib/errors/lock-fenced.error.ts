import { LockError, LockErrorCode } from './lock.error.js';

/** The resource has seen a larger fencing token: whoever writes with this one lost its lock. Nothing was written. */
export class LockFencedError extends LockError {
  readonly code = LockErrorCode.Fenced;
  readonly statusCode = 409;

  constructor(
    reason: string,
    /** The token that was refused. */
    readonly fencingToken: bigint,
  ) {
    super(reason);
    // JSON has no such numbers: a logged error must not throw.
    Object.defineProperty(this, 'fencingToken', { value: fencingToken, enumerable: false });
  }
}
