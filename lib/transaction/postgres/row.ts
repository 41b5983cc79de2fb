import type { TransactionLock } from '../transaction-lock.js';
import { LockTimeoutSetting } from './lock-timeout-setting.js';

/**
 * Locks the key's row; inserts it where it is missing. An insert holds the key as well as a row lock does: others who insert it wait
 * for this transaction to end, and find a row to lock if it commits, or none and insert their own if it rolls back.
 */
export async function takeRow(lock: TransactionLock): Promise<boolean> {
  const { statements, settings, literals } = lock;
  const table = `"${settings.tables.lock}"`;
  const hash = `decode('${literals.hash}', 'hex')`;
  const select =
    `SELECT 1 AS taken FROM ${table} WHERE key_hash = ${hash} FOR UPDATE` + (settings.wait === 0 ? ' NOWAIT' : '');
  const insert = `WITH new AS (
      INSERT INTO ${table} (key_hash, lock_key) VALUES (${hash}, convert_from(decode('${literals.text}', 'hex'), 'UTF8'))
      ON CONFLICT DO NOTHING RETURNING 1
    ) SELECT count(*)::int AS taken FROM new`;
  const setting = new LockTimeoutSetting(lock);
  for (;;) {
    await setting.bound();
    const [found] = await statements.run(select, setting.wait);
    if (found) break;
    await setting.bound();
    const { taken } = await statements.one(insert, setting.wait);
    if (Number(taken) === 1) break;
    // Somebody committed the row in between, or swept it while this waited for it.
    if (lock.remaining <= 0 && settings.wait > 0) return false;
  }
  await setting.restore();
  return true;
}
