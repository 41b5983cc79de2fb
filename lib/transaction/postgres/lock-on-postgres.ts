import { RELEASE_SAVEPOINT, SET_SAVEPOINT, undo } from '../savepoint.js';
import type { TransactionLock } from '../transaction-lock.js';
import { takeAdvisory } from './advisory.js';
import { beginError, failureOf } from './postgres.errors.js';
import { takeRow } from './row.js';

/**
 * Takes the lock under a savepoint, which PostgreSQL refuses outside of a transaction: the one reliable test for being in one. (The two
 * clocks, `now()` and `statement_timestamp()`, differ outside of one too, by the extended protocol.)
 *
 * @returns the fencing token, where one was asked for
 */
export async function lockOnPostgres(lock: TransactionLock): Promise<bigint | undefined> {
  const { statements, settings } = lock;
  await statements.run(SET_SAVEPOINT).catch((error: unknown) => {
    throw beginError(error, lock);
  });
  try {
    const taken = settings.mode === 'advisory' ? await takeAdvisory(lock) : await takeRow(lock);
    if (!taken) throw lock.contended();
    const token = settings.fencing ? await drawToken(lock) : undefined;
    await statements.run(RELEASE_SAVEPOINT);
    return token;
  } catch (error) {
    // Whatever was set or locked since the savepoint goes with it.
    const undone = await undo(statements);
    throw await failureOf(error, lock, undone === undefined);
  }
}

/** Drawn while the lock is held, so that the order of tokens is the order of holders; a rollback does not give it back. */
async function drawToken({ statements, settings }: TransactionLock): Promise<bigint> {
  const { token } = await statements.one(`SELECT nextval('"${settings.tables.fence}"')::text AS token`);
  return BigInt(String(token));
}
