import { LockOptionsError } from '../../errors/index.js';
import { PLACE } from '../sources/index.js';
import type { TransactionLock } from '../transaction-lock.js';
import type { MysqlSession } from './mysql-session.js';

/** By what connections have in common: the tables that are known to be InnoDB's. */
const checked = new WeakMap<object, Set<string>>();

/**
 * Refuses tables whose engine does not lock rows: there, everybody would get the lock. Asks once for each pool and table, and after the
 * row was taken: what is read from then on is fresh, whatever the server makes of a question about tables.
 *
 * @throws LockOptionsError naming the table, its engine and the fix
 */
export async function checkEngines(lock: TransactionLock, session: MysqlSession): Promise<void> {
  const { statements, settings, origin } = lock;
  const { tables, fencing } = settings;
  const known = checked.get(origin) ?? new Set();
  checked.set(origin, known);
  for (const table of fencing ? [tables.lock, tables.fence] : [tables.lock]) {
    const name = `${session.database}.${table}`;
    if (known.has(name)) continue;
    // Nothing where the table is a view, and more than one where a temporary table hides another.
    const { engines } = await statements.one(
      `SELECT GROUP_CONCAT(engine) AS engines FROM information_schema.tables WHERE table_schema = DATABASE() AND table_name = '${table}'`,
    );
    const found = typeof engines === 'string' ? engines.split(',') : [];
    const other = found.find((engine) => engine !== 'InnoDB');
    if (other !== undefined) throw wrongEngine(table, other);
    known.add(name);
  }
}

function wrongEngine(table: string, engine: string): LockOptionsError {
  return new LockOptionsError(
    `${PLACE}: the engine of the table "${table}" is ${engine}, but must be InnoDB: others do not lock rows, so that two transactions ` +
      `would hold one key at the same time. Run ALTER TABLE \`${table}\` ENGINE=InnoDB.`,
  );
}
