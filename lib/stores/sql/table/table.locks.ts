import { setTimeout as sleep } from 'node:timers/promises';
import type { HolderInfo, StoreInspection } from '../../../contract/index.js';
import { LockUnavailableError } from '../../../errors/index.js';
import { keyHash, readableKey } from '../key-hash.js';
import type { SqlResult } from '../sql.connection.js';
import type { Statement } from '../statement.js';
import type { Refusal } from './poll-delay.js';
import type { Lease, TableDialect } from './table.dialect.js';
import type { TableRunner } from './table.runner.js';

/** What an acquisition writes. */
export interface Claim {
  readonly key: string;
  readonly owner: string;
  readonly label: string;
  /** ms */
  readonly ttl: number;
}

export interface Grant {
  /** When the statement that won was sent. */
  readonly start: number;
  readonly fence: bigint;
}

/** What a look finds: whether the key is free and it is this owner's turn. */
export interface Look extends Refusal {
  readonly free: boolean;
  readonly mine: boolean;
  /** ms that the owner's ticket still lives; `undefined`: it has none. */
  readonly ticket: number | undefined;
}

const SWEEP_LIMIT = 500;
const NO_ROW = 'a table of the store lacks the row that claims go by: run the schema again';
// A statement that got no answer has been carried out by then, or never will be: its connection was reset.
const STRAGGLER = 100;
// About as long as the tickets of a queue that has come to its end.
const QUEUES_LAST = 2_000;

/** What is done with a lock table, in the server's terms. */
export class TableLocks {
  /** Until when it is not worth while to claim as if there were no queues. */
  #queuesUntil = -Infinity;

  constructor(
    private readonly dialect: TableDialect,
    private readonly runner: TableRunner,
  ) {}

  /** One try; `inTurn`: for one who has a ticket. */
  async claim({ key, owner, label, ttl }: Claim, inTurn: boolean): Promise<Grant | undefined> {
    const { dialect, runner } = this;
    const { claim: asNewcomer, claimUnlessQueues, claimInTurn, dequeue } = dialect.statements;
    const id = keyHash(key);
    const values = { id, key: readableKey(key), owner, label: readableKey(label), ttl };
    const won = async (statement: Statement): Promise<Grant | undefined> => {
      const start = performance.now();
      const fence = dialect.readClaim(await runner.run(statement, values));
      return fence === undefined ? undefined : { start, fence };
    };
    return runner.inDoubt(owner, async () => {
      if (!inTurn && claimUnlessQueues !== undefined && performance.now() >= this.#queuesUntil) {
        const grant = await won(claimUnlessQueues);
        if (grant !== undefined) return grant;
        // The key may be taken, or anybody may be queueing for any.
        this.#queuesUntil = performance.now() + QUEUES_LAST;
      }
      const grant = await won(inTurn ? claimInTurn : asNewcomer);
      if (grant !== undefined && inTurn && !dialect.claimDequeues) await runner.run(dequeue, { id, owner });
      return grant;
    });
  }

  async look(key: string, owner: string): Promise<Look> {
    const { rows } = await this.runner.run(this.dialect.statements.look, { id: keyHash(key), owner });
    const row = rows[0];
    if (row === undefined) throw new LockUnavailableError(NO_ROW, { retryable: false });
    const holder = readHolder(row);
    const ahead = Number(row['ahead'] ?? 0);
    const ticket = readNumber(row['ticket']);
    return { free: holder === undefined, mine: row['owner'] === owner, holder, ahead, ticket };
  }

  async enqueue(key: string, owner: string, life: number): Promise<void> {
    const id = keyHash(key);
    await this.runner.inDoubt(owner, async () => {
      for (const statement of this.dialect.statements.enqueue) await this.runner.run(statement, { id, owner, life });
    });
  }

  async release(key: string, owner: string): Promise<boolean> {
    return this.#wasLive(this.dialect.statements.release, { id: keyHash(key), owner });
  }

  async forceRelease(key: string): Promise<boolean> {
    return this.#wasLive(this.dialect.statements.forceRelease, { id: keyHash(key) });
  }

  /** Leaves neither a row nor a ticket of this owner, also none that is still under way. */
  async abandon(key: string, owner: string): Promise<void> {
    await this.#remove(key, owner);
    if (!this.runner.takeDoubt(owner)) return;
    // Keeps the process alive: what is left behind would otherwise stand until its lease ends.
    await sleep(STRAGGLER);
    await this.runner.inDoubt(owner, () => this.#remove(key, owner));
  }

  renew(leases: readonly Lease[]): Promise<ReadonlySet<string>> {
    return this.dialect.renew((text, params) => this.runner.send(text, params), leases);
  }

  async inspect(key: string): Promise<StoreInspection | undefined> {
    const { rows } = await this.runner.run(this.dialect.statements.inspect, { id: keyHash(key) });
    const row = rows[0];
    if (row === undefined) return undefined;
    const fence = row['fence'];
    return {
      owner: String(row['owner']),
      label: String(row['label']),
      age: readNumber(row['age']),
      remaining: readNumber(row['remaining']),
      waiters: readNumber(row['waiters']),
      fence: fence === undefined || fence === null ? undefined : readBigint(fence),
    };
  }

  /** Removes what crashed processes left behind. Whether there may be more. */
  async sweep(): Promise<boolean> {
    let more = false;
    for (const statement of this.dialect.statements.sweep) {
      const { changes } = await this.runner.run(statement, { limit: SWEEP_LIMIT });
      more ||= changes >= SWEEP_LIMIT;
    }
    return more;
  }

  async #remove(key: string, owner: string): Promise<void> {
    for (const statement of this.dialect.statements.abandon)
      await this.runner.run(statement, { id: keyHash(key), owner });
  }

  async #wasLive(statement: Statement, values: Readonly<Record<string, unknown>>): Promise<boolean> {
    const result: SqlResult = await this.runner.run(statement, values);
    return this.dialect.wasLive(result);
  }
}

function readHolder(row: Readonly<Record<string, unknown>>): HolderInfo | undefined {
  const { owner, label, remaining } = row;
  if (owner === null || owner === undefined) return undefined;
  return { label: String(label), remaining: Number(remaining) };
}

// Drivers give wide numbers as text.
function readNumber(value: unknown): number | undefined {
  return value === null || value === undefined ? undefined : Number(value);
}

function readBigint(value: unknown): bigint {
  return BigInt(value as string | number | bigint);
}
