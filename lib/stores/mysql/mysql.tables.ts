import type { LockTables } from '../sql/table-names.js';
import type { MysqlMode } from './mysql.modes.js';

/** What a table is for. `hold` and `named`: what sessions tell of the locks that they hold; its numbers are the fencing tokens. */
export type TableRole = 'lock' | 'waiter' | 'fence' | 'hold' | 'row' | 'named';

export const ROLES: Readonly<Record<MysqlMode, readonly TableRole[]>> = {
  table: ['lock', 'waiter', 'fence'],
  row: ['hold', 'row'],
  // Not that of `row`, whose holders are those in its table: it would take these for its own.
  named: ['named'],
};

export function tableName(names: LockTables, role: TableRole): string {
  return role === 'hold' || role === 'named' ? `${names.lock}_${role}` : names[role];
}

/** What statements call the tables, and where these are. */
export interface MysqlTables extends Readonly<Record<TableRole, string>> {
  readonly names: LockTables;
  /** An SQL expression for the database and the table, of which named locks are made. */
  readonly namespace: string;
}

/**
 * @param database the tables' own: what a session has selected is its user's business, and may differ from one to the next. Absent in a
 *   migration, which runs where it is wanted.
 */
export function mysqlTables(names: LockTables, database?: string): MysqlTables {
  const place = database === undefined ? '' : `${quoted(database)}.`;
  const called = (role: TableRole): string => `${place}${quoted(tableName(names, role))}`;
  return {
    names,
    // In hexadecimal, which is read alike in every character set.
    namespace: `CONVERT(X'${Buffer.from(`${database ?? ''}.${names.lock}.`).toString('hex')}' USING utf8mb4)`,
    lock: called('lock'),
    waiter: called('waiter'),
    fence: called('fence'),
    hold: called('hold'),
    row: called('row'),
    named: called('named'),
  };
}

function quoted(name: string): string {
  return `\`${name.replaceAll('`', '``')}\``;
}
