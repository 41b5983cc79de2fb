import { statement, type Statement } from '../sql/statement.js';
import type { LockTables } from '../sql/table-names.js';
import type { TableStatements } from '../sql/table/table.dialect.js';

// Not now(), which stands still in a transaction. https://www.postgresql.org/docs/current/functions-datetime.html
const NOW = 'clock_timestamp()';
const LAST = '9223372036854775807';

const sql = (text: string): Statement => statement('dollar', text);
const ms = (interval: string): string => `(EXTRACT(EPOCH FROM (${interval})) * 1000)::float8`;

/**
 * @param names quoted and qualified
 * @param channel where the owner of the first ticket is announced when its turn has come
 */
export function tableStatements({ lock, waiter, fence }: LockTables, channel: string): TableStatements {
  const later = (span: string): string => `${NOW} + ${span}::float8 * interval '1 millisecond'`;

  // The token is drawn in RETURNING, when the row is ours: one drawn before might be delivered after a later holder's.
  const claim = (inTheWay: string): string => `
    INSERT INTO ${lock} AS held (id, key, owner, label, acquired_at, expires_at)
    SELECT @id::bytea, @key::text, @owner::text, @label::text, ${NOW}, ${later('@ttl')}
    WHERE NOT EXISTS (
      SELECT FROM ${waiter} AS queued
      WHERE queued.id = @id AND queued.expires_at > ${NOW} AND ${inTheWay}
    )
    ON CONFLICT (id) DO UPDATE SET key = excluded.key, owner = excluded.owner, label = excluded.label,
      acquired_at = excluded.acquired_at, expires_at = excluded.expires_at
    WHERE held.expires_at <= ${NOW} OR held.owner = excluded.owner
    RETURNING nextval('${fence}') AS fence`;

  /** Removes a row and wakes the first of the queue; nobody is told while nobody queues. */
  const removal = (condition: string): string => `
    DELETE FROM ${lock} WHERE id = @id AND ${condition} RETURNING expires_at > ${NOW} AS live, (
      SELECT pg_notify('${channel}', head.owner)::text FROM (
        SELECT queued.owner FROM ${waiter} AS queued
        WHERE queued.id = @id AND queued.expires_at > ${NOW} ORDER BY queued.ticket LIMIT 1
      ) AS head
    )`;

  const sweep = (table: string, column: string): string => `
    DELETE FROM ${table} WHERE ${column} IN (
      SELECT ${column} FROM ${table} WHERE expires_at <= ${NOW} LIMIT @limit FOR UPDATE SKIP LOCKED
    )`;

  return {
    claim: sql(claim('queued.owner <> @owner')),
    claimInTurn: sql(`
      WITH won AS (${claim(`queued.owner <> @owner AND queued.ticket < COALESCE(
        (SELECT mine.ticket FROM ${waiter} AS mine WHERE mine.owner = @owner), ${LAST})`)}
      ), left_queue AS (
        DELETE FROM ${waiter} WHERE owner = @owner AND EXISTS (SELECT FROM won)
      )
      SELECT fence FROM won`),
    look: sql(`
      SELECT held.owner, held.label, ${ms('held.expires_at - clock.now')} AS remaining, (
        SELECT count(*)::int FROM ${waiter} AS queued
        WHERE queued.id = @id AND queued.expires_at > clock.now AND queued.ticket < COALESCE(mine.ticket, ${LAST})
      ) AS ahead, ${ms('mine.expires_at - clock.now')} AS ticket
      FROM (SELECT ${NOW} AS now) AS clock
      LEFT JOIN ${lock} AS held ON held.id = @id AND held.expires_at > clock.now
      LEFT JOIN ${waiter} AS mine ON mine.owner = @owner`),
    enqueue: [
      sql(`
        INSERT INTO ${waiter} (id, owner, expires_at) VALUES (@id, @owner, ${later('@life')})
        ON CONFLICT (owner) DO UPDATE SET expires_at = excluded.expires_at`),
    ],
    dequeue: sql(`DELETE FROM ${waiter} WHERE owner = @owner`),
    release: sql(removal('owner = @owner')),
    forceRelease: sql(removal(`expires_at > ${NOW}`)),
    abandon: [
      sql(`
        WITH mine AS (
          DELETE FROM ${waiter} WHERE owner = @owner RETURNING 1
        ), gone AS (
          DELETE FROM ${lock} WHERE id = @id AND owner = @owner RETURNING 1
        ), head AS (
          SELECT queued.owner FROM ${waiter} AS queued
          WHERE queued.id = @id AND queued.expires_at > ${NOW} AND queued.owner <> @owner
            AND (EXISTS (SELECT FROM mine) OR EXISTS (SELECT FROM gone))
          ORDER BY queued.ticket LIMIT 1
        )
        SELECT pg_notify('${channel}', owner)::text FROM head`),
    ],
    inspect: sql(`
      SELECT held.owner, held.label, ${ms('clock.now - held.acquired_at')} AS age,
        ${ms('held.expires_at - clock.now')} AS remaining, (
          SELECT count(*)::int FROM ${waiter} AS queued WHERE queued.id = @id AND queued.expires_at > clock.now
        ) AS waiters
      FROM (SELECT ${NOW} AS now) AS clock JOIN ${lock} AS held ON held.id = @id AND held.expires_at > clock.now`),
    sweep: [sql(sweep(lock, 'id')), sql(sweep(waiter, 'owner'))],
  };
}

/** Renews many leases: hashes, owners and lease times in ms, side by side. Gives the owners that still had theirs. */
export function renewal({ lock }: LockTables): string {
  return `UPDATE ${lock} AS held SET expires_at = ${NOW} + lease.ttl * interval '1 millisecond'
    FROM unnest($1::bytea[], $2::text[], $3::float8[]) AS lease (id, owner, ttl)
    WHERE held.id = lease.id AND held.owner = lease.owner AND held.expires_at > ${NOW} RETURNING held.owner`;
}
