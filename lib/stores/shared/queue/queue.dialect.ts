import type { HolderInfo, StoreGuarantees, StoreInspection } from '../../../contract/index.js';
import type { LockError } from '../../../errors/index.js';
import type { LiveSession } from './live.session.js';

export interface QueueClaim {
  readonly key: string;
  /** 32 lower-case hexadecimal digits. Part of the entry's name, so that it is found after a lost answer. */
  readonly owner: string;
  readonly label: string;
  /** `false`: leave no entry behind unless it is the first. */
  readonly wait: boolean;
}

/** An entry in a key's queue. */
export interface Entry {
  /** How the server names it, unambiguous for good: not even a later entry of this owner has the same. */
  readonly id: string;
  /** The server's number for the change that made it: larger than that of all entries before it. */
  readonly fence: bigint;
}

export type Place =
  /** Its owner has the key. */
  | { readonly kind: 'first' }
  /** `ahead` is the entry directly before it, which is the one to watch. */
  | {
      readonly kind: 'behind';
      readonly ahead: string;
      readonly holder: HolderInfo | undefined;
      /** When that was so, in the server's own count, where it can be watched from then on. */
      readonly seen?: string;
    }
  /** It does not stand any more, or not under this session. */
  | { readonly kind: 'gone' };

export type Entered =
  | { readonly entry: Entry; readonly place: Place }
  /** Only for a claim that does not wait. */
  | { readonly entry: undefined; readonly holder: HolderInfo | undefined };

/**
 * What differs between services in which a lock is a queue of entries, each bound to a session, and the first entry has the key.
 *
 * Every method settles within a bound of its own, whatever the client library queues or retries. A rejection means that the outcome
 * is unknown.
 */
export interface QueueDialect<S extends LiveSession = LiveSession> {
  /** The store's name: `etcd`, `zookeeper`. */
  readonly name: string;
  readonly guarantees: StoreGuarantees;

  /** Connects and checks what can be checked. */
  open(): Promise<void>;

  /** A session that is alive, a new one where there is none that will do for `ttl` ms. */
  session(ttl: number): Promise<S>;

  /**
   * Puts an entry at the end of the key's queue and tells its place, or finds the owner's own that stands already. One that an
   * earlier session of this process has left is removed, never used.
   */
  enter(session: S, claim: QueueClaim): Promise<Entered>;

  /** Where an entry stands now. `first` only when the server itself has said so after the entry before it was gone. */
  look(session: S, claim: QueueClaim, entry: Entry): Promise<Place>;

  /**
   * Rings when the entry `ahead` goes, or has gone already. It may ring too often; a ring that is lost costs a poll's time.
   *
   * @param seen as {@link Place} has it
   * @returns how to stop, which leaves nothing behind in the client
   */
  watch(session: S, key: string, ahead: string, ring: () => void, seen?: string): Promise<() => void>;

  /**
   * Removes the owner's entry, in whatever session it stands, also one whose `enter()` has had no answer and is carried out later.
   *
   * @returns whether one stood, and was not one of a session that has ended
   */
  leave(key: string, owner: string, entry: Entry | undefined): Promise<boolean>;

  inspect(key: string): Promise<StoreInspection | undefined>;
  /** Removes the first entry. */
  forceRelease(key: string): Promise<boolean>;

  /** Ends the sessions, which frees what they hold, and closes what was opened here. */
  close(): Promise<void>;
  toLockError(error: unknown): LockError;
}
