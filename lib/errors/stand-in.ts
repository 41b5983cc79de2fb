import type { LockError } from './lock.error.js';

/** Registered, so that another copy of the package sees it too. */
export const STANDS_FOR = Symbol.for('nestjs-distributed-lock:stands-for');

/**
 * Makes an exception of a transport stand for a lock error: it gets its fields (`code`, `key`, `holder` …), the error as
 * its `cause`, and `instanceof` takes it for one. So a filter that catches `LockContendedError` goes on doing so where
 * Nest itself only understands its own exceptions. What is sent to the client is the exception's own business.
 *
 * @returns the exception
 */
export function standIn<E extends Error>(exception: E, error: LockError): E {
  const fields = { ...Object.getOwnPropertyDescriptors(error), status: { value: error.statusCode } };
  for (const [name, { value }] of Object.entries(fields)) {
    if (!(name in exception)) Object.defineProperty(exception, name, { value, configurable: true });
  }
  Object.defineProperty(exception, 'cause', { value: error, configurable: true });
  Object.defineProperty(exception, STANDS_FOR, { value: error });
  return exception;
}

/** The lock error that an exception stands for, if it does. */
export function stoodFor(value: unknown): unknown {
  return (value as { [STANDS_FOR]?: unknown } | null | undefined)?.[STANDS_FOR];
}
