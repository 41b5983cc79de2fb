import type { StoreGuarantees } from '../contract/index.js';
import type { Lock } from '../engine/lock.js';
import { ShownLock } from '../engine/shown-lock.js';
import type { Duration } from '../options/index.js';

/** A lock whose signal tells its body, besides a loss, that nobody waits for the answer any more. It is held all the same. */
export class AttendedLock extends ShownLock implements Lock {
  readonly key: string;
  readonly keys: readonly string[];
  readonly store: string;
  readonly guarantees: StoreGuarantees;
  #signal: AbortSignal | undefined;

  constructor(
    private readonly lock: Lock,
    private readonly client: AbortSignal,
  ) {
    super();
    this.key = lock.key;
    this.keys = lock.keys;
    this.store = lock.store;
    this.guarantees = lock.guarantees;
  }

  get signal(): AbortSignal {
    this.#signal ??= AbortSignal.any([this.lock.signal, this.client]);
    return this.#signal;
  }

  get fencingToken(): bigint {
    return this.lock.fencingToken;
  }

  get held(): boolean {
    return this.lock.held;
  }

  remaining(): number {
    return this.lock.remaining();
  }

  throwIfLost(): void {
    this.lock.throwIfLost();
  }

  extend(duration?: Duration): Promise<number> {
    return this.lock.extend(duration);
  }

  release(): Promise<boolean> {
    return this.lock.release();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.release();
  }
}
