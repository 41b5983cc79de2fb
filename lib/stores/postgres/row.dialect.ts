import type { StoreInspection } from '../../contract/index.js';
import { keyHash, readableKey } from '../sql/key-hash.js';
import type { AskSession, SessionClaim } from '../sql/session/session.dialect.js';
import { isLockNotAvailable } from './postgres.errors.js';
import { PostgresSessionDialect } from './session.dialect.js';
import { readHolder } from './session-label.js';

// Whoever waits for a locked row waits for the transaction that has it.
const WAITERS_FOR_ME = `
  SELECT FROM pg_locks WHERE locktype = 'transactionid' AND NOT granted
    AND transactionid = (SELECT transactionid FROM pg_locks
      WHERE locktype = 'transactionid' AND granted AND pid = pg_backend_pid() AND mode = 'ExclusiveLock' LIMIT 1)`;

const SWEEP_LIMIT = 500;

/**
 * `SELECT … FOR UPDATE` in a transaction that ends with the lock.
 *
 * The row is inserted before, in a transaction of its own, and removed by whoever gives the lock back while nobody waits for
 * it, so that keys leave nothing behind. Who holds a row that stands is the only one to remove it: a waiter that
 * finds it gone inserts it anew and starts over, and never locks a row beside another's.
 */
export class RowDialect extends PostgresSessionDialect {
  readonly shares = false;

  lockName(key: string): string {
    return keyHash(key).toString('hex');
  }

  tryLock(ask: AskSession, claim: SessionClaim): Promise<bigint | undefined> {
    return this.#take(ask, claim, 'NOWAIT', undefined);
  }

  lock(ask: AskSession, claim: SessionClaim): Promise<bigint | undefined> {
    return this.#take(ask, claim, '', Infinity);
  }

  async unlock(ask: AskSession, { key }: SessionClaim): Promise<boolean> {
    await ask(`DELETE FROM ${this.names.row} WHERE id = $1 AND NOT EXISTS (${WAITERS_FOR_ME})`, [keyHash(key)]);
    await ask('COMMIT');
    return true;
  }

  async inspect(ask: AskSession, key: string): Promise<StoreInspection | undefined> {
    const { rows } = await ask(
      `SELECT held.pid, activity.application_name AS name, (
        SELECT count(*)::int FROM pg_locks AS waits WHERE NOT waits.granted AND (
          waits.locktype = 'transactionid' AND waits.transactionid = held.transactionid
          OR waits.locktype = 'tuple' AND waits.relation = '${this.names.row}'::regclass
            AND format('(%s,%s)', waits.page, waits.tuple)::tid = row.ctid
        )
      ) AS waiters
      FROM ${this.names.row} AS row
      JOIN pg_locks AS held ON held.locktype = 'transactionid' AND held.granted AND held.transactionid = row.xmax
      LEFT JOIN pg_stat_activity AS activity ON activity.pid = held.pid
      WHERE row.id = $1 LIMIT 1`,
      [keyHash(key)],
    );
    return rows[0] && readHolder(rows[0]);
  }

  /** Rows that crashed holders left: whatever is not locked belongs to nobody. */
  async sweep(ask: AskSession): Promise<void> {
    const { row } = this.names;
    await ask(`DELETE FROM ${row} WHERE id IN (SELECT id FROM ${row} LIMIT ${SWEEP_LIMIT} FOR UPDATE SKIP LOCKED)`);
  }

  protected async holder(ask: AskSession, key: string): Promise<number | undefined> {
    const { rows } = await ask(
      `SELECT held.pid FROM ${this.names.row} AS row
      JOIN pg_locks AS held ON held.locktype = 'transactionid' AND held.granted AND held.transactionid = row.xmax
      WHERE row.id = $1 LIMIT 1`,
      [keyHash(key)],
    );
    return rows[0] && Number(rows[0]['pid']);
  }

  async #take(
    ask: AskSession,
    { key }: SessionClaim,
    wait: 'NOWAIT' | '',
    timeout: number | undefined,
  ): Promise<bigint | undefined> {
    const { row, fence } = this.names;
    const id = keyHash(key);
    for (;;) {
      await ask(`INSERT INTO ${row} (id, key) VALUES ($1, $2) ON CONFLICT (id) DO NOTHING`, [id, readableKey(key)]);
      await ask('BEGIN ISOLATION LEVEL READ COMMITTED READ WRITE');
      try {
        // The token is drawn from what the CTE gives, which is a row that is locked.
        const { rows } = await ask(
          `WITH mine AS MATERIALIZED (SELECT id FROM ${row} WHERE id = $1 FOR UPDATE ${wait})
          SELECT nextval('${fence}') AS fence FROM mine`,
          [id],
          timeout,
        );
        if (rows[0]) return BigInt(rows[0]['fence'] as string);
      } catch (error) {
        if (!isLockNotAvailable(error)) throw error;
        await ask('ROLLBACK');
        return undefined;
      }
      // Its holder has removed it.
      await ask('ROLLBACK');
    }
  }
}
