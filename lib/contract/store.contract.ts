import type { StoreGuarantees } from './guarantees.js';

/**
 * How a key is taken. Only `exclusive` exists today; shared modes and permits will be further members, and a store
 * says in {@link LockStore.modes} which it knows, so that a store written today refuses what it has never heard of.
 */
export interface LockMode {
  readonly kind: 'exclusive';
}

export const EXCLUSIVE: LockMode = Object.freeze({ kind: 'exclusive' });

/** Who holds a key, as far as the store knows. */
export interface HolderInfo {
  /** The label its process gave itself: host and process id unless configured. */
  readonly label?: string;
  /** Milliseconds until the lease ends unless it is renewed. Absent where the store has no lease. */
  readonly remaining?: number;
}

/** What a waiting request heard last from its store. */
export type QueueStatus =
  | {
      readonly kind: 'contended';
      readonly holder?: HolderInfo | undefined;
      /** `false`: refused so far, and not in the store's queue yet. */
      readonly queued?: boolean;
    }
  | { readonly kind: 'unreachable'; readonly cause: unknown };

/** One acquisition, as the engine asks for it. */
export interface AcquireRequest {
  /** The key, any well-formed non-empty text. Two keys are the same only if every code unit is. */
  readonly key: string;
  /** The owner token of this acquisition: 32 lower-case hexadecimal digits, random, never used for another. */
  readonly owner: string;
  /** What {@link LockStore.inspect} shows as the holder. */
  readonly label: string;
  /** One of those that the store says it knows. */
  readonly mode: LockMode;
  /** The lease time in ms. */
  readonly ttl: number;
  /** `false`: exactly one try, leaving no trace in any queue. `true`: queue until granted or until `signal` aborts. */
  readonly wait: boolean;
  /** Aborted when nobody waits any more: settle soon, in whatever way. */
  readonly signal: AbortSignal;
  /**
   * Tells the engine what was heard from the store while waiting; the last word decides whether a wait that ran out
   * is reported as contended or as unavailable.
   */
  onStatus(status: QueueStatus): void;
}

/** How an acquisition ended, where it is known. */
export type AcquireResult =
  | { readonly acquired: true; readonly hold: StoreHold }
  /** Only ever the answer to `wait: false`. */
  | { readonly acquired: false; readonly holder?: HolderInfo | undefined };

/** One granted lock, as its store sees it. */
export interface StoreHold {
  /** As it was asked for. */
  readonly key: string;
  /** The owner token that it was asked for with. */
  readonly owner: string;
  /**
   * The store's fencing token, larger than every earlier one of this key (see {@link StoreGuarantees.fencing}), below
   * 2^53. `undefined` where the store has none.
   */
  readonly fence: bigint | undefined;
  /**
   * Until when the hold is certain, on the monotonic clock: the start of the request that won or last renewed it, plus
   * the lease time, less drift. Moves forward as it is renewed; a store that keeps a session alive moves it itself.
   */
  readonly validUntil: number;
  /** Set by the engine. A store that is told of a loss (a dead session, a closed connection) calls it, once. */
  onLost?: ((cause: unknown) => void) | undefined;
  /**
   * Gives the key back if it is still this owner's, and says whether it was. Rejects when the outcome is unknown; the
   * engine then sees to it with {@link LockStore.abandon}.
   */
  release(): Promise<boolean>;
}

/** What became of one lease that was to be extended. */
export type RenewOutcome =
  | 'renewed'
  /** The key is no longer this owner's. Never re-created. */
  | 'lost'
  /** No answer. The engine asks again until the hold's time runs out. */
  | 'unknown';

/** One lease to be extended. */
export interface RenewRequest {
  /** What {@link LockStore.acquire} gave. */
  readonly hold: StoreHold;
  /** The lease time in ms, from now. */
  readonly ttl: number;
}

/** A key that is held, seen from outside. Whatever a store cannot tell is absent. */
export interface StoreInspection {
  /** The owner token of its acquisition. Absent where the server keeps no more of a lock than who has it: then there is a label. */
  readonly owner?: string | undefined;
  /** Which process has it: the label that it asked with. */
  readonly label?: string | undefined;
  /** ms since the key was granted. */
  readonly age?: number | undefined;
  /** ms until the lease ends unless it is renewed. */
  readonly remaining?: number | undefined;
  /** How many processes queue for the key. */
  readonly waiters?: number | undefined;
  /** The fencing token of the present hold. */
  readonly fence?: bigint | undefined;
}

/**
 * One backend. The engine calls it with at most one acquisition per key at a time, does all the waiting of a process on
 * its behalf, renews in batches, and cleans up after unknown outcomes.
 *
 * Every request a store makes is bounded in time by the store itself, so that no method hangs with a dead server.
 * Errors may be of any kind: the engine reports them as `LockUnavailableError` with the original as `cause`. An error
 * with `retryable: false` (wrong password, missing permission) ends a wait at once.
 */
export interface LockStore {
  /** The backend's name, for messages: `redis`, `sqlite`. */
  readonly name: string;
  /** What it promises, as it is set up. */
  readonly guarantees: StoreGuarantees;
  /** The kinds of {@link LockMode} the store knows. */
  readonly modes: readonly LockMode['kind'][];

  /** What open() found that locks may be lost by, and the fix: the module logs it when it starts. */
  readonly warnings?: readonly string[];

  /** Connects, checks the configuration and permissions, creates what is missing. Called again after a failure. */
  open(): Promise<void>;

  /**
   * Takes the key. A repeated call with the same owner finds a win whose answer was lost, and keeps its place in a queue.
   *
   * A hold that turns up after `signal` has aborted may be returned: the engine gives it back. A rejection means that the
   * outcome is unknown; the engine calls {@link abandon} next, which must then take effect after whatever was sent here.
   */
  acquire(request: AcquireRequest): Promise<AcquireResult>;

  /** Makes sure that the owner neither holds the key nor queues for it. Idempotent. Rejects when it cannot tell. */
  abandon(key: string, owner: string): Promise<void>;

  /**
   * Extends leases, answering in the same order. Absent on stores whose locks live as long as a session: those move
   * {@link StoreHold.validUntil} themselves.
   */
  renew?(requests: readonly RenewRequest[]): Promise<RenewOutcome[]>;

  /** Who holds the key, or `undefined` when it is free. */
  inspect(key: string): Promise<StoreInspection | undefined>;

  /** Takes the key from whoever holds it, granting it to the next in the queue. `false` when it was free. */
  forceRelease(key: string): Promise<boolean>;

  /** Closes what the store opened itself, and nothing that it was handed. */
  close(): Promise<void>;
}
