import type { StoreGuarantees } from '../../contract/index.js';
import type { LockError } from '../../errors/index.js';
import type { SqlResult } from '../sql/sql.connection.js';
import type { Lease, RunSql, TableDialect, TableStatements } from '../sql/table/table.dialect.js';
import { catchUp } from './catch-up.js';
import type { MysqlDriver } from './mysql.driver.js';
import { isConflict, isMissingTable, unavailable } from './mysql.errors.js';
import type { MysqlPlace } from './mysql.place.js';
import { NOW } from './mysql.time.js';
import { marks, tableStatements } from './table.sql.js';

/** A lease in a row of a table. */
export class LeaseDialect implements TableDialect {
  readonly name = 'mysql';
  readonly guarantees: StoreGuarantees = {
    ownership: true,
    fencing: 'global',
    survivesFailover: false,
    fifo: true,
    reach: 'network',
    expiry: 'lease',
    wakeUp: 'poll',
  };
  readonly claimDequeues = false;
  readonly isConflict = isConflict;
  readonly isMissingTable = isMissingTable;
  #statements: TableStatements | undefined;

  constructor(
    private readonly place: MysqlPlace,
    private readonly driver: MysqlDriver,
  ) {}

  get schema(): readonly string[] {
    return this.place.schema;
  }

  get statements(): TableStatements {
    return (this.#statements ??= tableStatements(this.place.tables));
  }

  check(): Promise<void> {
    return this.place.find();
  }

  async probe(run: RunSql): Promise<void> {
    await this.place.probe(run);
    const { claimUnlessQueues, claim, release } = this.statements;
    for (const each of [claimUnlessQueues, claim, release]) if (each) this.driver.prepared.add(each.text);
    this.driver.greeting = catchUp(this.place.tables);
  }

  readClaim({ insertId }: SqlResult): bigint | undefined {
    return insertId === 0n ? undefined : insertId;
  }

  wasLive({ changes }: SqlResult): boolean {
    return changes > 0;
  }

  renew(run: RunSql, leases: readonly Lease[]): Promise<ReadonlySet<string>> {
    return renew(this.place.tables.lock, run, leases);
  }

  toLockError(error: unknown): LockError {
    return unavailable(error, this.place.address);
  }
}

async function renew(table: string, run: RunSql, leases: readonly Lease[]): Promise<ReadonlySet<string>> {
  const renewed = new Set<string>();
  for (const [ttl, group] of byTtl(leases)) {
    const owners = group.map(({ owner }) => owner);
    // An owner has one key, so that no pair can come out of the two lists that is not in `leases`.
    const live = `id IN (${marks(group)}) AND owner IN (${marks(group)}) AND expires_at > ${NOW}`;
    const which = [...group.map(({ id }) => id), ...owners];
    const { changes } = await run(
      `UPDATE ${table} FORCE INDEX (PRIMARY) SET expires_at = ${NOW} + INTERVAL ? * 1000 MICROSECOND WHERE ${live}`,
      [ttl, ...which],
    );
    // A lease that is live now has been so all the time, and was renewed: nothing brings back one that has run out.
    const found =
      changes === group.length
        ? owners
        : (await run(`SELECT owner FROM ${table} WHERE ${live}`, which)).rows.map(({ owner }) => String(owner));
    for (const owner of found) renewed.add(owner);
  }
  return renewed;
}

function byTtl(leases: readonly Lease[]): Map<number, Lease[]> {
  const groups = new Map<number, Lease[]>();
  for (const lease of leases) {
    const group = groups.get(lease.ttl);
    if (group) group.push(lease);
    else groups.set(lease.ttl, [lease]);
  }
  return groups;
}
