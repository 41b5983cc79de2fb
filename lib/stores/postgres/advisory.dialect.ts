import type { StoreInspection } from '../../contract/index.js';
import { keyHash } from '../sql/key-hash.js';
import type { AskSession, SessionClaim } from '../sql/session/session.dialect.js';
import type { SqlResult } from '../sql/sql.connection.js';
import { ADVISORY_LOCKS, firstTag, ownerTags, readOwner, spellOwner, takeTags } from './owner-tags.js';
import type { PostgresSettings } from './postgres.options.js';
import { PostgresSessionDialect } from './session.dialect.js';

const UNTAG = [2, 3, 4, 5].map((at) => `pg_advisory_unlock_shared($${at}::bigint)`).join(', ');

// A bigint key stands in pg_locks as two halves.
const SAME_KEY = '((class << 32) | object) = $1::bigint';

/** `pg_advisory_lock`: session-level locks on 64 bits of the SHA-256 of the key. */
export class AdvisoryDialect extends PostgresSessionDialect {
  readonly shares = true;
  readonly #try: string;
  readonly #lock: string;
  readonly #unlock = `SELECT pg_advisory_unlock($1::bigint) AS unlocked, ${UNTAG}`;

  constructor(settings: PostgresSettings) {
    super(settings);
    // CASE is what PostgreSQL promises to evaluate in order: the token is drawn when the lock is held.
    const won = `CASE WHEN (${takeTags('')}) IS NOT NULL THEN nextval('${this.names.fence}') END`;
    this.#try = `SELECT CASE WHEN pg_try_advisory_lock($1::bigint) THEN ${won} END AS fence`;
    this.#lock = `SELECT CASE WHEN pg_advisory_lock($1::bigint)::text IS NOT NULL THEN ${won} END AS fence`;
  }

  lockName(key: string): string {
    return String(advisoryKey(key));
  }

  async tryLock(ask: AskSession, claim: SessionClaim): Promise<bigint | undefined> {
    return readFence(await ask(this.#try, params(claim)));
  }

  async lock(ask: AskSession, claim: SessionClaim): Promise<bigint | undefined> {
    return readFence(await ask(this.#lock, params(claim), Infinity));
  }

  async unlock(ask: AskSession, claim: SessionClaim): Promise<boolean> {
    const { rows } = await ask(this.#unlock, params(claim));
    return rows[0]?.['unlocked'] === true;
  }

  async inspect(ask: AskSession, key: string): Promise<StoreInspection | undefined> {
    const { rows } = await ask(
      `WITH locks AS MATERIALIZED (${ADVISORY_LOCKS})
      SELECT pid, ${spellOwner('locks', 'held.pid')} AS owner,
        (SELECT count(*)::int FROM locks WHERE ${SAME_KEY} AND NOT granted) AS waiters
      FROM locks AS held WHERE ${SAME_KEY} AND granted LIMIT 1`,
      [String(advisoryKey(key)), firstTag(key)],
    );
    const row = rows[0];
    return row && { owner: readOwner(row['owner'], row['pid']), waiters: Number(row['waiters']) };
  }

  protected async holder(ask: AskSession, key: string): Promise<number | undefined> {
    const { rows } = await ask(`SELECT pid FROM (${ADVISORY_LOCKS}) AS locks WHERE ${SAME_KEY} AND granted LIMIT 1`, [
      String(advisoryKey(key)),
    ]);
    return rows[0] && Number(rows[0]['pid']);
  }
}

/** The first 64 bits of the SHA-256 of the key's UTF-8, as PostgreSQL's bigint. */
export function advisoryKey(key: string): bigint {
  return keyHash(key).readBigInt64BE(0);
}

function params({ key, owner }: SessionClaim): unknown[] {
  return [String(advisoryKey(key)), ...ownerTags(key, owner)];
}

function readFence({ rows }: SqlResult): bigint | undefined {
  const fence = rows[0]?.['fence'];
  return typeof fence === 'string' ? BigInt(fence) : undefined;
}
