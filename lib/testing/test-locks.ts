import type { Clock, LockStore, StoreGuarantees, StoreHold } from '../contract/index.js';
import { fencingToken } from '../engine/fencing-token.js';
import { checkKey } from '../keys/index.js';
import { refuseUnknown } from '../options/known-options.js';
import { MemoryStore } from '../stores/memory/memory.store.js';
import { Outage, type OutageOptions } from './outage.js';
import { HoldingRival, type Rival } from './rival.js';
import { TestStore } from './test-store.js';

export interface TestLocksOptions {
  /** Where time comes from, such as {@link manualClock}. Default: the process's monotonic clock. */
  readonly clock?: Clock;
  /** What the store claims to promise, for code that asks for `guarantee: 'correctness'`. Default: what a memory store does. */
  readonly guarantees?: Partial<StoreGuarantees>;
}

/** What a module under test is configured with; spread it to set more. */
export interface TestLockOptions {
  readonly store: LockStore;
  readonly clock?: Clock;
  /** A test that fails halfway does not wait for its own locks. */
  readonly shutdownTimeout: 0;
  /** Every lock is taken in the store, where the test sees it. */
  readonly handOff: { readonly max: 0 };
}

/** One time that the code under test was granted a key. */
export interface TakenLock {
  readonly key: string;
  /** The `instance` of the module that took it. */
  readonly holder: string;
  /** What `lock.fencingToken` gives. */
  readonly fencingToken: bigint;
}

/**
 * Locks whose fate a test decides, for unit and e2e tests of code that takes them. They are real ones of one process:
 * modules that are given the same {@link options} contend with one another as processes do. Nothing of a test runner is used.
 *
 * @example
 * ```ts
 * const locks = testLocks();
 * // LockModule.forRoot(locks.options)
 * const rival = locks.contend('order:1'); // somebody else has it
 * locks.lose('order:1'); // its holder has lost it
 * locks.unavailable(); // the store does not answer
 * ```
 */
export function testLocks(options?: TestLocksOptions): TestLocks {
  return new TestLocks(options);
}

export class TestLocks {
  /** For `LockModule.forRoot()`. */
  readonly options: TestLockOptions;

  readonly #memory: MemoryStore;
  readonly #outage = new Outage();
  readonly #rivals = new Map<string, HoldingRival>();
  readonly #holds = new Map<string, StoreHold>();
  #taken: TakenLock[] = [];

  constructor(options: TestLocksOptions = {}) {
    refuseUnknown(options, 'testLocks()', ['clock', 'guarantees']);
    const { clock, guarantees } = options;
    this.#memory = new MemoryStore(clock && { clock });
    const store = new TestStore(
      this.#memory,
      this.#outage,
      {
        onRefused: (key) => this.#rivals.get(key)?.meet(),
        onGranted: (hold, label) => this.#granted(hold, label),
      },
      { ...this.#memory.guarantees, ...guarantees },
    );
    this.options = { store, ...(clock && { clock }), shutdownTimeout: 0, handOff: { max: 0 } };
  }

  /** Whether anybody holds the key at this moment, the code under test or a rival. */
  held(key: string): boolean {
    return this.#memory.look(key) !== undefined;
  }

  /** Who holds the key at this moment: the `instance` of a module, or a rival's name; `undefined` when it is free. */
  holder(key: string): string | undefined {
    return this.#memory.look(key)?.label;
  }

  /** Every lock that the code under test was granted, in that order; rivals do not count. */
  get taken(): readonly TakenLock[] {
    return this.#taken;
  }

  /**
   * From now on somebody else holds the key: who asks for it is refused or waits.
   *
   * @param holder what the code under test is told as the holder. Default: `somebody else`
   * @throws Error when the key is held already
   */
  contend(key: string, holder = 'somebody else'): Rival {
    checkKey(key, 'contend()');
    const before = this.holder(key);
    if (before !== undefined) {
      throw new Error(
        `contend("${key}"): "${before}" holds it now. Call contend() before the code under test takes it, or lose("${key}") first.`,
      );
    }
    const rival = new HoldingRival(key, holder, this.#memory, (released) => this.#forget(released));
    this.#rivals.set(key, rival);
    return rival;
  }

  /**
   * The code under test has just lost the key: `held` is false, `signal` aborts, the event `lost` is emitted. The key is
   * free, or the next one's who waits for it.
   *
   * @throws Error when the code under test does not hold it
   */
  lose(key: string): void {
    const now = this.#memory.look(key);
    const hold = this.#holds.get(key);
    if (hold?.onLost === undefined || hold.owner !== now?.owner) {
      const instead = now === undefined ? 'nobody holds it' : `"${now.label}" holds it, and no body runs under it`;
      throw new Error(
        `lose("${key}"): ${instead} now. Call it from within the body, or while the body waits for the test.`,
      );
    }
    void this.#memory.forceRelease(key);
    hold.onLost(new Error('the test has taken the lock away'));
  }

  /** From now on the store does not answer: not those who wait already, no renewal and no release either. */
  unavailable(options: OutageOptions = {}): void {
    refuseUnknown(options, 'unavailable()', ['retry']);
    this.#outage.begin(options);
  }

  /** The store answers again. */
  available(): void {
    this.#outage.end();
  }

  /** For the end of a test: every key is free, also one that `minHold` keeps, the store answers, and nothing was {@link taken}. */
  reset(): void {
    for (const rival of this.#rivals.values()) rival.release();
    for (const key of this.#holds.keys()) void this.#memory.forceRelease(key);
    this.#holds.clear();
    this.available();
    this.#taken = [];
  }

  #granted(hold: StoreHold, holder: string): void {
    const { key, owner, fence } = hold;
    const again = this.#holds.get(key)?.owner === owner;
    this.#holds.set(key, hold);
    if (!again && fence !== undefined) this.#taken.push({ key, holder, fencingToken: fencingToken(fence, 0) });
  }

  #forget(rival: HoldingRival): void {
    if (this.#rivals.get(rival.key) === rival) this.#rivals.delete(rival.key);
  }
}
