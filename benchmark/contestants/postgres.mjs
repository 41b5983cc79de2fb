import { createHash, randomBytes } from 'node:crypto';
import { postgresStore } from 'nestjs-distributed-lock/postgres';
import pg from 'pg';
import { locksApp } from '../support/locks-app.mjs';

/** The least that a lock table can do, on a warm pool: one upsert, one delete, prepared as ours are. */
export async function barePostgresRows({ postgresUrl }) {
  const pool = new pg.Pool({ connectionString: postgresUrl });
  await pool.query('CREATE TABLE IF NOT EXISTS bare_lock (key bytea PRIMARY KEY, owner text, expires_at timestamptz)');
  const take = {
    name: 'bare-take',
    text: `INSERT INTO bare_lock VALUES ($1, $2, clock_timestamp() + interval '30 s')
      ON CONFLICT (key) DO UPDATE SET owner = excluded.owner, expires_at = excluded.expires_at
      WHERE bare_lock.expires_at <= clock_timestamp()`,
  };
  const give = { name: 'bare-give', text: 'DELETE FROM bare_lock WHERE key = $1 AND owner = $2' };
  return {
    async withLock(key, body) {
      const values = [createHash('sha256').update(key).digest(), randomBytes(16).toString('hex')];
      await pool.query({ ...take, values });
      try {
        return await body();
      } finally {
        await pool.query({ ...give, values });
      }
    },
    close: () => pool.end(),
  };
}

/** A bare `pg_advisory_lock` and its unlock on one warm connection, prepared. */
export async function bareAdvisory({ postgresUrl }) {
  const client = new pg.Client({ connectionString: postgresUrl });
  await client.connect();
  return {
    async withLock(key, body) {
      const values = [createHash('sha256').update(key).digest().readBigInt64BE()];
      await client.query({ name: 'bare-lock', text: 'SELECT pg_advisory_lock($1)', values });
      try {
        return await body();
      } finally {
        await client.query({ name: 'bare-unlock', text: 'SELECT pg_advisory_unlock($1)', values });
      }
    },
    close: () => client.end(),
  };
}

export const oursPostgres =
  (mode) =>
  async ({ postgresUrl }) => {
    const { locks, close } = await locksApp(postgresStore({ connection: postgresUrl, mode }));
    return { withLock: (key, body) => locks.withLock(key, body), close };
  };
