import { LockOptionsError } from '../../errors/index.js';
import { engineProblem, engineQuery } from '../../stores/sql/innodb.js';
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
    const problem = engineProblem(await statements.one(engineQuery('DATABASE()', table)));
    if (problem !== undefined) throw new LockOptionsError(`${PLACE}: ${problem}`);
    known.add(name);
  }
}
