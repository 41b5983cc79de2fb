import type { StoreInspection } from '../../contract/index.js';
import { keyHash } from '../sql/key-hash.js';
import type { AskSession, SessionClaim } from '../sql/session/session.dialect.js';
import type { SqlResult } from '../sql/sql.connection.js';
import { PostgresSessionDialect } from './session.dialect.js';
import { readHolder } from './session-label.js';

// A bigint key stands in pg_locks as two halves.
const ONE_KEY = `
  SELECT pid, granted FROM pg_locks
  WHERE locktype = 'advisory' AND objsubid = 1 AND ((classid::bigint << 32) | objid::bigint) = $1::bigint
    AND database = (SELECT oid FROM pg_database WHERE datname = current_database())`;

const UNLOCK = 'SELECT pg_advisory_unlock($1::bigint) AS unlocked';

/** `pg_advisory_lock`: session-level locks on 64 bits of the SHA-256 of the key. */
export class AdvisoryDialect extends PostgresSessionDialect {
  readonly shares = true;
  #made: { readonly fence: string; readonly tryLock: string; readonly lock: string } | undefined;

  lockName(key: string): string {
    return String(advisoryKey(key));
  }

  async tryLock(ask: AskSession, { key }: SessionClaim): Promise<bigint | undefined> {
    return readFence(await ask(this.#texts.tryLock, [this.lockName(key)]));
  }

  async lock(ask: AskSession, { key }: SessionClaim): Promise<bigint | undefined> {
    return readFence(await ask(this.#texts.lock, [this.lockName(key)], Infinity));
  }

  async unlock(ask: AskSession, { key }: SessionClaim): Promise<boolean> {
    const { rows } = await ask(UNLOCK, [this.lockName(key)]);
    return rows[0]?.['unlocked'] === true;
  }

  async inspect(ask: AskSession, key: string): Promise<StoreInspection | undefined> {
    const { rows } = await ask(
      `WITH locks AS MATERIALIZED (${ONE_KEY})
      SELECT pid, application_name AS name, (SELECT count(*)::int FROM locks WHERE NOT granted) AS waiters
      FROM locks LEFT JOIN pg_stat_activity USING (pid) WHERE granted LIMIT 1`,
      [this.lockName(key)],
    );
    return rows[0] && readHolder(rows[0]);
  }

  protected async holder(ask: AskSession, key: string): Promise<number | undefined> {
    const { rows } = await ask(`SELECT pid FROM (${ONE_KEY}) AS locks WHERE granted LIMIT 1`, [this.lockName(key)]);
    return rows[0] && Number(rows[0]['pid']);
  }

  // Once it is known where the sequence is: a text that is made anew for each call is looked up at its full length.
  get #texts(): { readonly tryLock: string; readonly lock: string } {
    const { fence } = this.names;
    if (this.#made?.fence !== fence) {
      this.#made = {
        fence,
        tryLock: drawing('pg_try_advisory_lock($1::bigint)', fence),
        lock: drawing('pg_advisory_lock($1::bigint)::text IS NOT NULL', fence),
      };
    }
    return this.#made;
  }
}

/** The first 64 bits of the SHA-256 of the key's UTF-8, as PostgreSQL's bigint. */
export function advisoryKey(key: string): bigint {
  return keyHash(key).readBigInt64BE(0);
}

// CASE is what PostgreSQL promises to evaluate in order: the token is drawn when the lock is held.
function drawing(locked: string, fence: string): string {
  return `SELECT CASE WHEN ${locked} THEN nextval('${fence}') END AS fence`;
}

function readFence({ rows }: SqlResult): bigint | undefined {
  const fence = rows[0]?.['fence'];
  return typeof fence === 'string' ? BigInt(fence) : undefined;
}
