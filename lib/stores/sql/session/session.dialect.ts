import type { StoreGuarantees, StoreInspection } from '../../../contract/index.js';
import type { LockError } from '../../../errors/index.js';
import type { SqlPool, SqlResult } from '../sql.connection.js';

/** Runs one statement on one certain session. Without `timeout` within the command timeout; `Infinity`: as long as it takes. */
export type AskSession = (text: string, params?: readonly unknown[], timeout?: number) => Promise<SqlResult>;

/** What a session is asked to lock. */
export interface SessionClaim {
  readonly key: string;
  readonly owner: string;
  readonly label: string;
}

/**
 * What differs between servers, and between kinds of locks, for locks that live as long as a session.
 *
 * Each method may send several statements. One that rejects leaves the session in an unknown state; it is then ended.
 */
export interface SessionDialect {
  /** The store's name: `postgres`, `mysql`. */
  readonly name: string;
  readonly guarantees: StoreGuarantees;
  /** What creates the tables or sequences, one statement each. Repeatable, also by many processes at once. */
  readonly schema: readonly string[];
  /** Whether one session may hold several keys and give back each by itself. */
  readonly shares: boolean;
  /** What the server takes for one key, such as its hash: a session is never asked for one that it has. */
  lockName(key: string): string;
  /**
   * Rejects with LockOptionsError where session locks cannot work, such as behind transaction pooling. Called by open().
   *
   * @param timeout ms for each connection and each statement
   */
  check?(pool: SqlPool, timeout: number): Promise<void>;
  /** Rejects with LockOptionsError when something is missing or may not be used. Called by open() once all is made. */
  probe?(ask: AskSession): Promise<void>;
  /** Makes a new session ready (time-outs off, …) and gives what {@link terminate} knows it by. */
  prepare(ask: AskSession): Promise<unknown>;
  /** Lets the server show `label` as the one who has the session, where its locks do not say so themselves. */
  introduce?(ask: AskSession, label: string): Promise<void>;
  /** Undoes both, before a session goes back to its pool. */
  restore(ask: AskSession, id: unknown): Promise<void>;
  /** One try that never waits. The fencing token, drawn after the lock was won; `undefined`: it is taken. */
  tryLock(ask: AskSession, claim: SessionClaim): Promise<bigint | undefined>;
  /** Waits in the server's queue. `undefined`: nothing is held, ask again (the row has vanished meanwhile). */
  lock(ask: AskSession, claim: SessionClaim): Promise<bigint | undefined>;
  /** Gives one key back. Whether it was held. */
  unlock(ask: AskSession, claim: SessionClaim): Promise<boolean>;
  /** A statement that does nothing. */
  readonly ping: string;
  /** Who holds the key. Asked, like what follows, on some session of its own, which was not prepared. */
  inspect(ask: AskSession, key: string): Promise<StoreInspection | undefined>;
  /** Whether the session stands in the server's queue by now. */
  isQueued(ask: AskSession, id: unknown): Promise<boolean>;
  /** Ends whichever session holds the key. Whether there was one. Resolves when its locks are gone. */
  forceRelease(ask: AskSession, key: string): Promise<boolean>;
  /** Ends one of our own sessions, and resolves when it is gone with all that it held. Rejects when that is not known. */
  terminate(ask: AskSession, id: unknown): Promise<void>;
  /** Removes what crashes left behind, where there is such a thing. */
  sweep?(ask: AskSession): Promise<void>;
  /** Whether this error says that the server itself has ended the session, with all that it held. */
  endedByServer(error: unknown): boolean;
  /** The error to report, without secrets; of ours already: the same one. */
  toLockError(error: unknown): LockError;
}
