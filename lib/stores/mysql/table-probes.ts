import { LockOptionsError } from '../../errors/index.js';
import type { RunSql } from '../sql/table/table.dialect.js';
import { errorNumber } from './mysql.errors.js';
import type { TableRole } from './mysql.tables.js';

interface Shape {
  readonly columns: string;
  /** An equation of the primary key with a value that it never has. */
  readonly never: string;
  /** What has to be allowed. */
  readonly rights: string;
}

const LEASE = 'SELECT, INSERT, UPDATE and DELETE';
const SESSION = 'SELECT, INSERT and DELETE';
const HOLD: Shape = {
  columns: 'fence, id, lock_key, owner, label, connection, acquired_at',
  never: 'fence = 0',
  rights: SESSION,
};
const SHAPES: Readonly<Record<TableRole, Shape>> = {
  lock: { columns: 'id, fence, lock_key, owner, label, acquired_at, expires_at', never: `id = ''`, rights: LEASE },
  waiter: { columns: 'ticket, id, owner, expires_at', never: 'ticket = 0', rights: LEASE },
  fence: { columns: 'id, queued_until', never: 'id = 0', rights: LEASE },
  hold: HOLD,
  named: HOLD,
  row: { columns: 'id, lock_key, created_at', never: `id = ''`, rights: SESSION },
};

/** Which table or column is forbidden, or which column there is not. */
const LACKS = new Set([1142, 1143, 1054]);

/**
 * Runs statements that do nothing, but fail where a column or a right is missing.
 *
 * @param table as statements call it
 * @throws LockOptionsError
 */
export async function probe(run: RunSql, role: TableRole, table: string): Promise<void> {
  const { columns, never, rights } = SHAPES[role];
  const [key] = never.split(' ') as [string];
  const update = rights === LEASE ? ` ON DUPLICATE KEY UPDATE ${key} = VALUES(${key})` : '';
  try {
    await run(`INSERT INTO ${table} (${columns}) SELECT ${columns} FROM ${table} AS present WHERE FALSE${update}`, []);
    await run(`DELETE FROM ${table} WHERE ${never}`, []);
  } catch (error) {
    if (!LACKS.has(errorNumber(error))) throw error;
    throw new LockOptionsError(
      `mysqlStore: the table ${table} cannot be used: ${(error as Error).message}. It must be as mysqlSchema() has it, and ` +
        `the user needs ${rights} on it.`,
    );
  }
}
