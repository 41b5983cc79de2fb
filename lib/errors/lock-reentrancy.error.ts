import { LockError, LockErrorCode } from './lock.error.js';

/** The call's own async chain holds the key already: waiting for it could never end. */
export class LockReentrancyError extends LockError {
  readonly code = LockErrorCode.Reentrancy;
  readonly statusCode = 500;

  constructor(key: string) {
    super(
      `"${key}" is held by this very call chain, so that waiting for it could never end. ` +
        'Lock once, further out, or lock with `reentrant: true` by `@DistributedLock` or `withLock()`, to run under the lock that is held.',
      key,
    );
  }
}
