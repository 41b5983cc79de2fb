import type { LockTables } from '../sql/table-names.js';

export type SqlName =
  | 'look'
  | 'ticket'
  | 'enqueue'
  | 'dequeue'
  | 'nextFence'
  | 'grant'
  | 'renew'
  | 'release'
  | 'remove'
  | 'forceRelease'
  | 'inspect'
  | 'sweepLocks'
  | 'sweepTickets';

// SQLite's own clock, in ms: one for all processes of the host, and one that a process's mocked Date does not move.
// It stands still within a statement.
const NOW = `CAST(ROUND(unixepoch('subsec') * 1000) AS INTEGER)`;

/** The text of every statement that the store runs. All times are ms since 1970. */
export function sqlOf({ lock, waiter, fence }: LockTables): Record<SqlName, string> {
  return {
    /** The live holder of a key and the owner of the first live ticket, each NULL where there is none. One row. */
    look: `
      SELECT held.owner, held.label, held.fence, held.expires_at - clock.now AS remaining, (
        SELECT queued.owner FROM "${waiter}" AS queued
        WHERE queued.key = @key AND queued.expires_at > clock.now ORDER BY queued.ticket LIMIT 1
      ) AS head
      FROM (SELECT ${NOW} AS now) AS clock
      LEFT JOIN "${lock}" AS held ON held.key = @key AND held.expires_at > clock.now`,

    /** An owner's ticket: how long it lives and how many live ones are ahead of it. */
    ticket: `
      SELECT mine.expires_at - ${NOW} AS remaining, (
        SELECT COUNT(*) FROM "${waiter}" AS queued
        WHERE queued.key = mine.key AND queued.ticket < mine.ticket AND queued.expires_at > ${NOW}
      ) AS ahead
      FROM "${waiter}" AS mine WHERE mine.owner = @owner`,

    enqueue: `
      INSERT INTO "${waiter}" (key, owner, expires_at) VALUES (@key, @owner, ${NOW} + @life)
      ON CONFLICT (owner) DO UPDATE SET expires_at = excluded.expires_at`,

    dequeue: `DELETE FROM "${waiter}" WHERE owner = @owner`,

    /** A hybrid clock: larger than the last one, also after the file was lost or its last commits were. */
    nextFence: `
      INSERT INTO "${fence}" (id, last) VALUES (1, ${NOW} * 1000)
      ON CONFLICT (id) DO UPDATE SET last = MAX(last + 1, excluded.last) RETURNING last`,

    grant: `
      INSERT OR REPLACE INTO "${lock}" (key, owner, label, fence, acquired_at, expires_at)
      VALUES (@key, @owner, @label, @fence, ${NOW}, ${NOW} + @ttl)`,

    renew: `UPDATE "${lock}" SET expires_at = ${NOW} + @ttl WHERE key = @key AND owner = @owner AND expires_at > ${NOW}`,

    // A row that has expired counts as gone although it still stands.
    release: `DELETE FROM "${lock}" WHERE key = @key AND owner = @owner AND expires_at > ${NOW}`,

    remove: `DELETE FROM "${lock}" WHERE key = @key AND owner = @owner`,

    forceRelease: `DELETE FROM "${lock}" WHERE key = @key AND expires_at > ${NOW}`,

    inspect: `
      SELECT held.owner, held.label, held.fence, ${NOW} - held.acquired_at AS age, held.expires_at - ${NOW} AS remaining, (
        SELECT COUNT(*) FROM "${waiter}" AS queued WHERE queued.key = @key AND queued.expires_at > ${NOW}
      ) AS waiters
      FROM "${lock}" AS held WHERE held.key = @key AND held.expires_at > ${NOW}`,

    sweepLocks: `
      DELETE FROM "${lock}" WHERE key IN (SELECT key FROM "${lock}" WHERE expires_at <= ${NOW} LIMIT @limit)`,

    sweepTickets: `
      DELETE FROM "${waiter}" WHERE ticket IN (SELECT ticket FROM "${waiter}" WHERE expires_at <= ${NOW} LIMIT @limit)`,
  };
}
