import { LockError, LockErrorCode } from './lock.error.js';

/** A request came without the headers that carry its fencing token, or with headers that hold none. */
export class FencingHeaderError extends LockError {
  readonly code = LockErrorCode.FencingHeader;
  readonly statusCode = 400;
}
