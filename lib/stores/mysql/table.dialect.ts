import type { LockTables } from '../sql/table-names.js';
import type { Lease, RunSql, TableDialect } from '../sql/table/table.dialect.js';
import { isConflict, isMissingTable, unavailable } from './mysql.errors.js';
import { schemaOf } from './mysql.schema.js';
import { NOW } from './mysql.time.js';
import { marks, tableStatements } from './table.sql.js';

/** @param address where the server is, for messages */
export function mysqlTable(names: LockTables, address: string): TableDialect {
  return {
    name: 'mysql',
    guarantees: {
      ownership: true,
      fencing: 'global',
      survivesFailover: false,
      fifo: true,
      reach: 'network',
      expiry: 'lease',
      wakeUp: 'poll',
    },
    schema: schemaOf('table', names),
    statements: tableStatements(names),
    claimDequeues: false,
    readClaim: ({ insertId }) => (insertId === 0n ? undefined : insertId),
    wasLive: ({ changes }) => changes > 0,
    renew: (run, leases) => renew(names.lock, run, leases),
    isConflict,
    isMissingTable,
    toLockError: (error) => unavailable(error, address),
  };
}

async function renew(table: string, run: RunSql, leases: readonly Lease[]): Promise<ReadonlySet<string>> {
  const renewed = new Set<string>();
  for (const [ttl, group] of byTtl(leases)) {
    const owners = group.map(({ owner }) => owner);
    // An owner has one key, so that no pair can come out of the two lists that is not in `leases`.
    const live = `id IN (${marks(group)}) AND owner IN (${marks(group)}) AND expires_at > ${NOW}`;
    const which = [...group.map(({ id }) => id), ...owners];
    const { changes } = await run(
      `UPDATE \`${table}\` FORCE INDEX (PRIMARY) SET expires_at = ${NOW} + INTERVAL ? * 1000 MICROSECOND WHERE ${live}`,
      [ttl, ...which],
    );
    // A lease that is live now has been so all the time, and was renewed: nothing brings back one that has run out.
    const found =
      changes === group.length
        ? owners
        : (await run(`SELECT owner FROM \`${table}\` WHERE ${live}`, which)).rows.map(({ owner }) => String(owner));
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
