import type { LockContendedError } from '../errors/index.js';
import type { Duration } from './duration.js';

/** What decides over one acquisition. Each option stands for itself: setting one never changes another. */
export interface AcquireOptions {
  /** The lease time: how long the lock outlives a process that dies. At least 10 ms. Default 30 s. */
  readonly ttl?: Duration;
  /** Whether the lease is renewed while the lock is held. `false`: it ends after `ttl`, on every store. Default `true`. */
  readonly renew?: boolean;
  /** How long to queue, all included. `0`: exactly one try; `Infinity`: for ever. Default 5 s. */
  readonly wait?: Duration;
  /** The longest time the lock is kept by renewal, so that a body that hangs cannot hold it for ever. Default `Infinity`. */
  readonly maxHold?: Duration;
  /** The shortest time the key stays taken, however early it is released: for cron jobs on skewed clocks. Default 0. */
  readonly minHold?: Duration;
  /** How many callers of this process may queue behind the one whose turn it is; more are refused. Default `Infinity`. */
  readonly maxWaiters?: number;
  /** The name of the store, where the module has several. */
  readonly store?: string;
  /**
   * What the lock is for. `efficiency`: it saves work, and a rare double run is bearable or caught by the resource. `correctness`: what it
   * guards must not happen twice at once; a store that may forget a lock in a failover is then refused. Default `efficiency`.
   */
  readonly guarantee?: 'efficiency' | 'correctness';
  /**
   * What the key is made from, such as `'order:<id>'`: by this, events, metrics and traces tell one kind of lock from another. A constant,
   * never the key itself. Default: none; a decorator has its own.
   */
  readonly template?: string;
  /** Ends the wait when it aborts, with its own reason. */
  readonly signal?: AbortSignal;
}

/** What `onContended` is told. */
export interface ContendedInfo {
  readonly keys: readonly string[];
  /** The label of the holding process, where the store tells. */
  readonly holder: string | undefined;
  /** ms spent waiting. */
  readonly waited: number;
  readonly error: LockContendedError;
}

/**
 * What to do when somebody else keeps the key for longer than `wait`. `throw`: a `LockContendedError`. `skip`: the body
 * does not run and the call answers `undefined` (an Observable completes, an async iterable ends, at once). A function
 * answers in the body's place. An outage is never contention: it throws whatever this says.
 */
export type OnContended = 'throw' | 'skip' | ((info: ContendedInfo) => unknown);

/** What decides over a body that runs under a lock. */
export interface LockOptions extends Omit<AcquireOptions, 'template'> {
  /** As in {@link AcquireOptions}; of several keys one for all, or one for each in their order. */
  readonly template?: string | readonly string[];
  /** Default `throw`. */
  readonly onContended?: OnContended;
  /**
   * What a lost lock does beyond aborting `lock.signal` and being reported. `report`: nothing. `throw`: a body that
   * succeeded all the same fails with `LockLostError`, which carries its result. Default `report`.
   */
  readonly onLost?: 'report' | 'throw';
  /** Whether a call chain that holds the key may run a further body under it, instead of `LockReentrancyError`. Default `false`. */
  readonly reentrant?: boolean;
  /** `false` runs the body without any lock: for tests and emergencies. Default `true`. */
  readonly enabled?: boolean;
}

/** {@link LockOptions} with every default filled in, checked, and in milliseconds. */
export interface ResolvedLockOptions {
  readonly ttl: number;
  readonly renew: boolean;
  readonly wait: number;
  readonly maxHold: number;
  readonly minHold: number;
  readonly maxWaiters: number;
  readonly store: string | undefined;
  readonly guarantee: 'efficiency' | 'correctness';
  readonly template: string | readonly string[] | undefined;
  readonly signal: AbortSignal | undefined;
  readonly onContended: OnContended;
  readonly onLost: 'report' | 'throw';
  readonly reentrant: boolean;
  readonly enabled: boolean;
}
