import { LockOptionsError } from '../../errors/index.js';
import type { RunSql } from '../sql/table/table.dialect.js';

// Marks of parameters, and blanks that statements are written without.
const UNFIT = /[?@]|\s\s|[^\S ]/;

/**
 * The database that the tables are in, once for all sessions: on a pool that is shared with others, some may have selected another.
 *
 * @param configured what the pool selects for its sessions, if it says so
 * @throws LockOptionsError when there is none
 */
export async function findDatabase(ask: RunSql, configured: string | undefined): Promise<string> {
  const { rows } = await ask('SELECT DATABASE() AS selected, @@lower_case_table_names AS folds', []);
  const { selected, folds } = rows[0] ?? {};
  const found = configured ?? (typeof selected === 'string' ? selected : undefined);
  if (found === undefined) {
    throw new LockOptionsError(
      'mysqlStore: no database is selected. Put /database into the connection: mysql://user:password@host:3306/database, ' +
        'or give the pool the option database.',
    );
  }
  // Named locks are compared by bytes: one database must not have two names.
  const database = Number(folds) === 0 ? found : found.toLowerCase();
  if (!UNFIT.test(database)) return database;
  throw new LockOptionsError(
    `mysqlStore: the database is called '${database}', but no name with ?, @ or several blanks will do. Use another database.`,
  );
}
