import type { StoreGuarantees } from '../contract/index.js';
import { LockOptionsError } from '../errors/index.js';
import type { Backend } from './backend.js';
import type { Lock } from './lock.js';
import { ShownLock } from './shown-lock.js';

/** What a body is handed where locking is switched off: nothing stands behind it. */
export class DisabledLock extends ShownLock implements Lock {
  readonly key: string;
  readonly store: string;
  readonly guarantees: StoreGuarantees;
  readonly signal: AbortSignal = new AbortController().signal;
  readonly held = true;

  constructor(
    backend: Backend,
    readonly keys: readonly string[],
  ) {
    super();
    this.key = keys.join(', ');
    this.store = backend.name;
    this.guarantees = backend.store.guarantees;
  }

  get fencingToken(): bigint {
    throw new LockOptionsError(
      `There is no fencing token for "${this.key}": locking is switched off (enabled: false).`,
    );
  }

  remaining(): number {
    return Infinity;
  }

  throwIfLost(): void {
    // Never held, never lost.
  }

  extend(): Promise<number> {
    return Promise.resolve(Infinity);
  }

  release(): Promise<boolean> {
    return Promise.resolve(true);
  }

  [Symbol.asyncDispose](): Promise<void> {
    return Promise.resolve();
  }
}
