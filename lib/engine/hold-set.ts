import type { StoreGuarantees } from '../contract/index.js';
import { LockOptionsError, type LockLostError } from '../errors/index.js';
import type { Duration } from '../options/duration.js';
import type { Hold } from './hold.js';
import type { Lock } from './lock.js';
import { ShownLock } from './shown-lock.js';

/** Several keys of one store held as one lock: lost as soon as any of them is. */
export class HoldSet extends ShownLock implements Lock {
  readonly keys: readonly string[];
  readonly key: string;
  readonly store: string;
  readonly guarantees: StoreGuarantees;
  #signal: AbortSignal | undefined;

  constructor(private readonly holds: readonly [Hold, ...Hold[]]) {
    super();
    this.keys = holds.map(({ key }) => key);
    this.key = this.keys.join(', ');
    this.store = holds[0].store;
    this.guarantees = holds[0].guarantees;
  }

  get fencingToken(): bigint {
    if (this.guarantees.fencing === 'per-key') {
      throw new LockOptionsError(
        `The store "${this.store}" numbers each key by itself, so that there is no one token for ${this.keys.length} keys. ` +
          'Lock the keys one inside the other and use the token of each.',
      );
    }
    return this.holds.map(({ fencingToken }) => fencingToken).reduce((a, b) => (a > b ? a : b));
  }

  get signal(): AbortSignal {
    this.#signal ??= AbortSignal.any(this.holds.map(({ signal }) => signal));
    return this.#signal;
  }

  get held(): boolean {
    return this.holds.every(({ held }) => held);
  }

  get lostError(): LockLostError | undefined {
    return this.holds.find(({ lostError }) => lostError !== undefined)?.lostError;
  }

  remaining(): number {
    return Math.min(...this.holds.map((hold) => hold.remaining()));
  }

  throwIfLost(): void {
    for (const hold of this.holds) hold.throwIfLost();
  }

  async extend(duration?: Duration): Promise<number> {
    return Math.min(...(await Promise.all(this.holds.map((hold) => hold.extend(duration)))));
  }

  async release(): Promise<boolean> {
    const released = await Promise.all(this.holds.map((hold) => hold.release()));
    return released.every(Boolean);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.release();
  }
}
