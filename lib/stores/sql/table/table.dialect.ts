import type { StoreGuarantees } from '../../../contract/index.js';
import type { LockError } from '../../../errors/index.js';
import type { SqlPool, SqlResult } from '../sql.connection.js';
import type { Statement } from '../statement.js';

/**
 * The statements of a lock table. Each is complete in itself and commits by itself; all times are the server's own at
 * the moment at which it executes, in ms where they leave it.
 *
 * Parameters by name: `@id` (32 bytes, see keyHash), `@key` (for people), `@owner`, `@label`, `@ttl` and `@life` (ms),
 * `@limit`.
 */
export interface TableStatements {
  /**
   * `@id @key @owner @label @ttl`. Inserts the row, or takes it over when it has expired or is this owner's own,
   * unless a live ticket of another owner stands for the key. Gives a fencing token that is larger than those of all claims that
   * have won before, which is read by {@link TableDialect.readClaim}.
   */
  readonly claim: Statement;
  /** The same at less cost, but only while no ticket stands for any key. */
  readonly claimUnlessQueues?: Statement;
  /** The same for one who has a ticket: only live tickets *before* its own are in the way. May remove the ticket too. */
  readonly claimInTurn: Statement;
  /**
   * `@id @owner`. One row: `owner`, `label` and `remaining` of the live holder (NULL: free), `ahead` (how many live tickets
   * stand before this owner's, or how many at all if it has none) and `ticket` (ms that its own ticket lives; NULL: none).
   */
  readonly look: Statement;
  /** `@id @owner @life`. Puts a ticket at the end of the queue, or lets the owner's own live for as long again. */
  readonly enqueue: readonly Statement[];
  /** `@id @owner`. */
  readonly dequeue: Statement;
  /** `@id @owner`. Removes the owner's row, and wakes the first in the queue where it can. See {@link TableDialect.wasLive}. */
  readonly release: Statement;
  /** `@id`. The same for whoever has it, if it is live. */
  readonly forceRelease: Statement;
  /** `@id @owner`. Removes the owner's ticket and row, in this order. */
  readonly abandon: readonly Statement[];
  /** `@id`. No row when it is free; else `owner`, `label`, `age`, `remaining`, `waiters`, and `fence` where it is known. */
  readonly inspect: Statement;
  /** `@limit`. Remove rows and tickets that have expired, at most so many, never a live one. */
  readonly sweep: readonly Statement[];
}

export interface Lease {
  readonly id: Buffer;
  readonly owner: string;
  /** ms */
  readonly ttl: number;
}

/** Runs one statement on some session, within the command timeout. */
export type RunSql = (text: string, params: readonly unknown[]) => Promise<SqlResult>;

/** What differs between servers for a lock table. */
export interface TableDialect {
  /** The store's name: `postgres`, `mysql`. */
  readonly name: string;
  readonly guarantees: StoreGuarantees;
  /** What creates the tables, one statement each. Repeatable, also by many processes at once. */
  readonly schema: readonly string[];
  readonly statements: TableStatements;
  /** Called by open() before anything else, and may settle what the rest is made of. Rejects where the store cannot work. */
  check?(pool: SqlPool): Promise<void>;
  /** Rejects with LockOptionsError when something is missing or may not be used. Called by open() once all is made. */
  probe?(run: RunSql): Promise<void>;
  /** Whether {@link TableStatements.claimInTurn} has removed the ticket when it won. */
  readonly claimDequeues: boolean;
  /** The fencing token of a claim that has won; `undefined`: it has not. */
  readClaim(result: SqlResult): bigint | undefined;
  /** Whether `release` or `forceRelease` found the row, and the row was live. */
  wasLive(result: SqlResult): boolean;
  /** Extends the leases that are still live and still their owner's. Gives the owners for which that was so. */
  renew(run: RunSql, leases: readonly Lease[]): Promise<ReadonlySet<string>>;
  /** The server undid a statement because of others' (a deadlock, a serialization failure): the same may be sent again. */
  isConflict(error: unknown): boolean;
  /** A table does not exist. Where the store makes its tables, it then makes them again. */
  isMissingTable(error: unknown): boolean;
  /** The error to report, without secrets; of ours already: the same one. */
  toLockError(error: unknown): LockError;
}
