import type { LockOptions } from '../options/index.js';

/** What a method answers with, where that cannot be told from its declaration. */
export type ReturnShape = 'promise' | 'observable' | 'asyncIterable';

export interface DistributedLockOptions<A extends readonly unknown[] = readonly never[]> extends Omit<
  LockOptions,
  'signal'
> {
  /** Looks at the arguments and says whether this call needs the lock. Default: every call does. */
  readonly condition?: (...args: A) => boolean;
  /**
   * Whether `signal` of the method's lock aborts too when the client disconnects while the method runs, so that it can
   * stop working. The lock itself stays until the method has ended. Default: the module's `abortOnDisconnect`.
   */
  readonly abortOnDisconnect?: boolean;
  /**
   * What the method answers with. Told from the declared return type where that is emitted (`emitDecoratorMetadata`);
   * needed for a method that returns an Observable or an async iterable without saying so in its signature.
   */
  readonly returns?: ReturnShape;
}
