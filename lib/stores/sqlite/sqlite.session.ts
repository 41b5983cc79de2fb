import type { HolderInfo, StoreInspection } from '../../contract/index.js';
import type { LockTables } from '../sql/table-names.js';
import type { SqliteDatabase, SqliteStatement } from './sqlite.driver.js';
import { sqlOf, type SqlName } from './sqlite.sql.js';

/** What an acquisition writes. */
export interface Claim {
  readonly key: string;
  readonly owner: string;
  readonly label: string;
  /** ms */
  readonly ttl: number;
}

export interface Refusal {
  readonly granted: false;
  readonly holder: HolderInfo | undefined;
  /** How many live tickets are ahead in the queue. */
  readonly ahead: number;
}

export type ClaimResult = { readonly granted: true; readonly fence: bigint } | Refusal;

interface Look {
  readonly owner: string | null;
  readonly label: string;
  readonly fence: number;
  readonly remaining: number;
  readonly head: string | null;
}

interface Ticket {
  readonly remaining: number;
  readonly ahead: number;
}

// Bounds how long one sweep can keep the event loop and other writers.
const SWEEP_LIMIT = 500;

/**
 * The operations on one open database. All are synchronous and take tens of microseconds; any of them throws when
 * another connection is in the way, having changed nothing.
 */
export class SqliteSession {
  readonly #statements: Record<SqlName, SqliteStatement>;
  readonly #begin: SqliteStatement;
  readonly #commit: SqliteStatement;
  readonly #rollback: SqliteStatement;

  constructor(
    readonly database: SqliteDatabase,
    tables: LockTables,
  ) {
    const sql = Object.entries(sqlOf(tables)).map(([name, text]) => [name, database.prepare(text)]);
    this.#statements = Object.fromEntries(sql) as Record<SqlName, SqliteStatement>;
    // IMMEDIATE: a transaction that began by reading could not always be promoted to writing.
    this.#begin = database.prepare('BEGIN IMMEDIATE');
    this.#commit = database.prepare('COMMIT');
    this.#rollback = database.prepare('ROLLBACK');
  }

  /**
   * Takes the key if it is free and nobody's turn comes first, or if the owner has it already.
   *
   * @param ticketLife queue for the key when it cannot be had, by a ticket that lapses after so many ms; `undefined`: do not
   */
  claim({ key, owner, label, ttl }: Claim, ticketLife: number | undefined): ClaimResult {
    return this.#transaction(() => {
      const { look, nextFence, grant, renew, enqueue, dequeue } = this.#statements;
      const seen = look.get({ key }) as Look;
      if (seen.owner === owner) {
        // A win whose answer never arrived.
        renew.run({ key, owner, ttl });
        dequeue.run({ owner });
        return { granted: true, fence: BigInt(seen.fence) };
      }
      if (isFreeFor(owner, seen)) {
        // all(), not get(): a statement that is left before its end hides an error of its last step.
        const [{ last }] = nextFence.all({}) as [{ last: number }];
        grant.run({ key, owner, label, fence: last, ttl });
        dequeue.run({ owner });
        return { granted: true, fence: BigInt(last) };
      }
      if (ticketLife !== undefined) enqueue.run({ key, owner, life: ticketLife });
      return this.#refused(seen, owner);
    });
  }

  /** As {@link claim} for one who queues already, but only reads while there is nothing to do. */
  poll(claim: Claim, ticketLife: number): ClaimResult {
    const { look, ticket } = this.#statements;
    const seen = look.get({ key: claim.key }) as Look;
    const mine = ticket.get({ owner: claim.owner }) as Ticket | undefined;
    const fresh = mine !== undefined && mine.remaining > (ticketLife * 2) / 3;
    if (!fresh || seen.owner === claim.owner || isFreeFor(claim.owner, seen)) return this.claim(claim, ticketLife);
    return { granted: false, holder: holderOf(seen), ahead: mine.ahead };
  }

  /** Whether the key was still the owner's. */
  release(key: string, owner: string): boolean {
    return this.#statements.release.run({ key, owner }).changes > 0;
  }

  /** Leaves neither a lock nor a ticket of this owner. */
  abandon(key: string, owner: string): void {
    this.#transaction(() => {
      this.#statements.dequeue.run({ owner });
      this.#statements.remove.run({ key, owner });
    });
  }

  leaveQueue(owner: string): void {
    this.#statements.dequeue.run({ owner });
  }

  /** For each, whether it was still the owner's. */
  renew(leases: readonly { readonly key: string; readonly owner: string; readonly ttl: number }[]): boolean[] {
    return this.#transaction(() => leases.map((lease) => this.#statements.renew.run(lease).changes > 0));
  }

  inspect(key: string): StoreInspection | undefined {
    const row = this.#statements.inspect.get({ key }) as (Record<string, number> & Look) | undefined;
    if (row === undefined) return undefined;
    const { owner, label, age, remaining, waiters, fence } = row;
    return { owner: owner as string, label, age, remaining, waiters, fence: BigInt(fence) };
  }

  forceRelease(key: string): boolean {
    return this.#statements.forceRelease.run({ key }).changes > 0;
  }

  /** Removes what crashed processes left behind. Whether there may be more. */
  sweep(): boolean {
    return this.#transaction(() => {
      const { sweepLocks, sweepTickets } = this.#statements;
      const swept = [sweepLocks, sweepTickets].map((sweep) => sweep.run({ limit: SWEEP_LIMIT }).changes);
      return swept.some((count) => count >= SWEEP_LIMIT);
    });
  }

  #refused(seen: Look, owner: string): Refusal {
    const mine = this.#statements.ticket.get({ owner }) as Ticket | undefined;
    return { granted: false, holder: holderOf(seen), ahead: mine?.ahead ?? 0 };
  }

  #transaction<T>(work: () => T): T {
    this.#begin.run({});
    try {
      const result = work();
      this.#commit.run({});
      return result;
    } catch (error) {
      try {
        this.#rollback.run({});
      } catch {
        // Some errors have rolled back already; and the first error is the one to report.
      }
      throw error;
    }
  }
}

function isFreeFor(owner: string, { owner: holder, head }: Look): boolean {
  return holder === null && (head === null || head === owner);
}

function holderOf({ owner, label, remaining }: Look): HolderInfo | undefined {
  return owner === null ? undefined : { label, remaining };
}
