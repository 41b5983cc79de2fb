import { LockOptionsError } from '../../errors/index.js';
import type { LockTables } from '../sql/table-names.js';
import type { RunSql } from '../sql/table/table.dialect.js';
import type { PostgresMode, PostgresSettings } from './postgres.options.js';

const TABLE = ['SELECT', 'INSERT', 'UPDATE', 'DELETE'];
// Either lets a role draw from it.
const SEQUENCE = ['USAGE, UPDATE'];

const LACKING = `
  SELECT name, privilege, to_regclass(name) IS NULL AS missing
  FROM unnest($1::text[], $2::text[]) AS needed (name, privilege)
  WHERE CASE
    WHEN to_regclass(name) IS NULL THEN true
    WHEN privilege = '${SEQUENCE[0]}' THEN NOT has_sequence_privilege(name, privilege)
    ELSE NOT has_table_privilege(name, privilege)
  END`;

/**
 * Finds out at start what would otherwise fail with the first lock.
 *
 * @throws LockOptionsError when something that the mode needs is missing, or may not be used
 */
export async function probe(run: RunSql, names: LockTables, settings: PostgresSettings): Promise<void> {
  const needed = needs(names, settings.mode);
  const { rows } = await run(LACKING, [needed.map(([name]) => name), needed.map(([, privilege]) => privilege)]);
  const missing = new Set(rows.filter((row) => row['missing'] === true).map((row) => String(row['name'])));
  if (missing.size > 0) {
    throw new LockOptionsError(
      `postgresStore: ${[...missing].join(', ')} at ${settings.address} cannot be found. Run what ` +
        `postgresSchema({ mode: '${settings.mode}', … }) gives as a migration, or let the store do it (createTable: true).`,
    );
  }
  if (rows.length === 0) return;
  const lacking = rows.map(({ name, privilege }) => `${String(privilege).split(',')[0]} on ${String(name)}`);
  throw new LockOptionsError(
    `postgresStore: the role at ${settings.address} lacks ${lacking.join(', ')}. ` +
      `GRANT it; mode '${settings.mode}' needs ${needed.length > 1 ? `${TABLE.join(', ')} on its tables and ` : ''}USAGE on its sequence.`,
  );
}

function needs({ lock, waiter, row, fence }: LockTables, mode: PostgresMode): [name: string, privilege: string][] {
  const tables = { table: [lock, waiter], row: [row], advisory: [] }[mode];
  const all = (name: string, privileges: string[]): [string, string][] => privileges.map((each) => [name, each]);
  return [...tables.flatMap((name) => all(name, TABLE)), ...all(fence, SEQUENCE)];
}
