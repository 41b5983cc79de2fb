import type { ExecutionContext } from '@nestjs/common';
import type { LockError } from '../errors/index.js';

/**
 * Says what is raised in the place of a lock error that leaves a handler, or `undefined` for the default. May take its
 * time; what it throws itself is raised.
 */
export type LockErrorAnswer = (error: LockError, context: ExecutionContext) => unknown;

/** What the module decides over handlers. */
export interface LockHandling {
  readonly abortOnDisconnect: boolean;
  readonly errors: LockErrorAnswer | undefined;
}

export const LOCK_HANDLING = Symbol('nestjs-distributed-lock:handling');
