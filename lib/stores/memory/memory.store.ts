import {
  leaseDeadline,
  systemClock,
  type AcquireRequest,
  type AcquireResult,
  type Clock,
  type LockStore,
  type RenewOutcome,
  type RenewRequest,
  type StoreGuarantees,
  type StoreInspection,
} from '../../contract/index.js';
import { refuseUnknown } from '../../options/known-options.js';
import { extend, LeaseHold } from '../shared/lease.hold.js';
import { MemoryKey } from './memory.key.js';

export interface MemoryStoreOptions {
  /** Where time comes from. Default: the process's monotonic clock. */
  readonly clock?: Clock;
}

/**
 * Locks of one process: for tests, for a single instance, and as the reference for every other store.
 *
 * Leases expire, holders lose their keys and waiters queue exactly as they would on a server. Engines that share one
 * `memoryStore()` contend with one another as processes do.
 */
export class MemoryStore implements LockStore {
  readonly name = 'memory';
  readonly modes = ['exclusive'] as const;
  readonly guarantees: StoreGuarantees = {
    ownership: true,
    fencing: 'global',
    survivesFailover: false,
    fifo: true,
    reach: 'process',
    expiry: 'lease',
    wakeUp: 'push',
  };

  readonly #clock: Clock;
  readonly #keys = new Map<string, MemoryKey>();
  #lastFence = 0;

  constructor(options: MemoryStoreOptions = {}) {
    refuseUnknown(options, 'memoryStore', ['clock']);
    const { clock = systemClock } = options;
    this.#clock = clock;
  }

  open(): Promise<void> {
    return Promise.resolve();
  }

  acquire(request: AcquireRequest): Promise<AcquireResult> {
    const state = this.#state(request.key);
    if (state.grantable(request.owner)) {
      return Promise.resolve({ acquired: true, hold: this.#grant(state, request) });
    }
    if (!request.wait) return Promise.resolve({ acquired: false, holder: state.holder() });
    request.onStatus({ kind: 'contended', holder: state.holder() });
    return new Promise((resolve, reject) => {
      state.enqueue(request, {
        grant: () => resolve({ acquired: true, hold: this.#grant(state, request) }),
        refuse: reject,
      });
    });
  }

  abandon(key: string, owner: string): Promise<void> {
    this.#keys.get(key)?.leave(owner);
    this.#release(key, owner);
    return Promise.resolve();
  }

  renew(requests: readonly RenewRequest[]): Promise<RenewOutcome[]> {
    const now = this.#clock.now();
    return Promise.resolve(
      requests.map(({ hold, ttl }) => {
        const state = this.#keys.get(hold.key);
        if (!state?.isHeldBy(hold.owner)) return 'lost';
        state.expiresAt = now + ttl;
        extend(hold, now, ttl);
        return 'renewed';
      }),
    );
  }

  inspect(key: string): Promise<StoreInspection | undefined> {
    return Promise.resolve(this.look(key));
  }

  /** What {@link inspect} answers, at once: tests look at a key in the middle of a synchronous call. */
  look(key: string): StoreInspection | undefined {
    return this.#keys.get(key)?.inspect();
  }

  forceRelease(key: string): Promise<boolean> {
    const owner = this.look(key)?.owner;
    return Promise.resolve(owner !== undefined && this.#release(key, owner));
  }

  close(): Promise<void> {
    for (const state of this.#keys.values()) state.close();
    this.#keys.clear();
    return Promise.resolve();
  }

  #state(key: string): MemoryKey {
    let state = this.#keys.get(key);
    if (state === undefined) {
      state = new MemoryKey(this.#clock, () => this.#keys.delete(key));
      this.#keys.set(key, state);
    }
    return state;
  }

  #grant(state: MemoryKey, { key, owner, label, ttl }: AcquireRequest): LeaseHold {
    const now = this.#clock.now();
    const fence = state.grantTo({ owner, label, since: now, fence: this.#nextFence() }, now + ttl);
    return new LeaseHold(key, owner, fence, leaseDeadline(now, ttl), () => Promise.resolve(this.#release(key, owner)));
  }

  #release(key: string, owner: string): boolean {
    return this.#keys.get(key)?.release(owner) ?? false;
  }

  // A hybrid clock, as on Redis: a restarted process does not begin at 1 again.
  #nextFence(): bigint {
    this.#lastFence = Math.max(this.#lastFence + 1, Date.now() * 1000);
    return BigInt(this.#lastFence);
  }
}

/** Locks of one process, without a server. See {@link MemoryStore}. */
export function memoryStore(options?: MemoryStoreOptions): LockStore {
  return new MemoryStore(options);
}
