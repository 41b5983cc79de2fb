import type { LockStore, StoreGuarantees } from '../../contract/index.js';
import type { ConformanceHooks } from './conformance.hooks.js';

/** A store, as the suite needs to know it. */
export interface StoreConformance {
  /**
   * A new store, not opened, on the same backend each time: every one stands for another process. The suite opens and
   * closes it.
   */
  createStore(): LockStore | Promise<LockStore>;
  /** What the store is meant to promise. The suite checks that it says so itself, and that it keeps it. */
  readonly guarantees: StoreGuarantees;
  /** The faults that can be caused, each one named or explained away. */
  readonly hooks: ConformanceHooks;
  /**
   * Stretches every lease, wait and bound: 1 for a backend that counts in milliseconds (shortest lease: 100 ms), 20 for
   * one whose leases are whole seconds of at least two. Default 1.
   */
  readonly timeScale?: number;
  /**
   * How long a session lives that is not heard of, in ms, where the store's locks live in sessions: as short as the backend lets
   * it be. Default 1000.
   */
  readonly sessionTime?: number;
}
