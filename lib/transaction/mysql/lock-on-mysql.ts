import { RELEASE_SAVEPOINT, SET_SAVEPOINT, undo, UNDO_TO_SAVEPOINT } from '../savepoint.js';
import type { TransactionLock } from '../transaction-lock.js';
import { runBounded } from './bounded-wait.js';
import { checkEngines } from './engine.js';
import { askSession } from './mysql-session.js';
import { beginError, failureOf } from './mysql.errors.js';

/**
 * Takes the lock under a savepoint. Outside of a transaction the server sets none, and says so when asked to go back to it: the one
 * test that MySQL and MariaDB have in common and that needs no privilege.
 *
 * @returns the fencing token, where one was asked for
 */
export async function lockOnMysql(lock: TransactionLock): Promise<bigint | undefined> {
  const { statements, settings } = lock;
  try {
    await statements.run(SET_SAVEPOINT);
    await statements.run(UNDO_TO_SAVEPOINT);
  } catch (error) {
    throw beginError(error, lock);
  }
  try {
    const session = await askSession(statements);
    await runBounded(lock, session, takeRow(lock));
    await checkEngines(lock, session);
    const token = settings.fencing ? await drawToken(lock) : undefined;
    await statements.run(RELEASE_SAVEPOINT);
    return token;
  } catch (error) {
    const undone = await undo(statements);
    throw failureOf(error, lock, undone);
  }
}

/**
 * Inserts the key's row, or else locks the one that is there: both are held until the transaction ends. It is one statement because a
 * `SELECT … FOR UPDATE` that finds nothing would lock the gap instead, as would everybody else's, and then no insert could go on;
 * and it updates rather than ignores the duplicate, because that takes the exclusive lock at once where `INSERT IGNORE` takes a shared one.
 */
function takeRow({ settings, literals }: TransactionLock): string {
  return (
    `INSERT INTO \`${settings.tables.lock}\` (key_hash, lock_key) ` +
    `VALUES (X'${literals.hash}', CONVERT(X'${literals.text}' USING utf8mb4)) ` +
    'ON DUPLICATE KEY UPDATE used_at = CURRENT_TIMESTAMP(6)'
  );
}

/** A counter of the server that no rollback sets back, asked while the lock is held. The row itself is not kept. */
async function drawToken({ statements, settings }: TransactionLock): Promise<bigint> {
  const table = `\`${settings.tables.fence}\``;
  await statements.run(`INSERT INTO ${table} () VALUES ()`);
  const { token } = await statements.one('SELECT LAST_INSERT_ID() AS token');
  const drawn = BigInt(String(token));
  await statements.run(`DELETE FROM ${table} WHERE id = ${drawn}`);
  return drawn;
}
