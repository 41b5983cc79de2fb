import { LockUnavailableError } from '../../errors/index.js';

/** What is asked of a store after it was closed, or waits for it then. */
export function closedError(name: string): LockUnavailableError {
  return new LockUnavailableError(`the ${name} store is closed`, { retryable: false });
}

export function notOpenError(name: string): LockUnavailableError {
  return new LockUnavailableError(`the ${name} store is not open`);
}
