import type { TransactionLock } from '../transaction-lock.js';
import { lockTimeout } from './lock-timeout.js';

/**
 * A lock on the pair of numbers that the first 64 bits of the key's SHA-256 make. PostgreSQL keeps pairs apart from single 64-bit
 * numbers, which are what session-level locks are usually taken on.
 */
export async function takeAdvisory(lock: TransactionLock): Promise<boolean> {
  const { statements, settings, literals } = lock;
  const pair = literals.halves.join(', ');
  if (settings.wait === 0) {
    const { taken } = await statements.one(
      `SELECT CASE WHEN pg_try_advisory_xact_lock(${pair}) THEN 1 ELSE 0 END AS taken`,
    );
    return Number(taken) === 1;
  }
  await statements.run(waiting(pair, lockTimeout(lock.remaining)), Math.max(0, lock.remaining));
  return true;
}

// One round trip instead of three: each step reads what the one before it gives, which settles their order.
function waiting(pair: string, timeout: number): string {
  return `WITH
    former AS MATERIALIZED (SELECT current_setting('lock_timeout') AS value),
    bound AS MATERIALIZED (SELECT value, set_config('lock_timeout', '${timeout}', true) AS set FROM former),
    taken AS MATERIALIZED (SELECT value, pg_advisory_xact_lock(${pair}) IS NULL AS waited FROM bound)
    SELECT set_config('lock_timeout', value, true) AS taken FROM taken`;
}
