import { LockOptionsError } from '../../errors/index.js';
import type { SqlConnection, SqlPool } from '../sql/sql.connection.js';
import type { PostgresSettings } from './postgres.options.js';

const ROUNDS = 2;
const BACKEND = 'SELECT pg_backend_pid() AS pid';

/**
 * Finds out whether something between us and the server, such as pgbouncer, gives each transaction whichever session of the
 * server is free. A lock of a session would then be somebody else's by the next statement.
 *
 * One session says where it is; another begins a transaction, which occupies what the first has just left; the first
 * says again where it is. Where sessions are real ones, it is where it was.
 *
 * @throws LockOptionsError
 */
export async function refuseTransactionPooling(pool: SqlPool, settings: PostgresSettings): Promise<void> {
  const { connectTimeout, commandTimeout, mode } = settings;
  const one = await pool.connect(connectTimeout);
  let other: SqlConnection | undefined;
  try {
    other = await pool.connect(connectTimeout);
    for (let round = 0; round < ROUNDS; round += 1) {
      const reason = await moves(one, other, commandTimeout);
      if (reason !== undefined) throw refusal(mode, settings.address, reason);
    }
  } finally {
    one.release();
    other?.release();
  }
}

async function moves(one: SqlConnection, other: SqlConnection, timeout: number): Promise<string | undefined> {
  const before = await backend(one, timeout);
  await other.query('BEGIN', [], timeout);
  try {
    const taken = await backend(other, timeout);
    if (taken === before) return `two sessions ran on the same server process (${before})`;
    const after = await backend(one, timeout).catch(() => undefined);
    // The other session answers: it is not the server that is slow.
    if (after === undefined) {
      await backend(other, timeout);
      return 'a session got no answer while another had a transaction open';
    }
    return after === before ? undefined : `one session moved from server process ${before} to ${after}`;
  } finally {
    await other.query('ROLLBACK', [], timeout);
  }
}

async function backend(connection: SqlConnection, timeout: number): Promise<number> {
  const { rows } = await connection.query(BACKEND, [], timeout);
  return Number(rows[0]?.['pid']);
}

function refusal(mode: string, address: string, reason: string): LockOptionsError {
  return new LockOptionsError(
    `postgresStore: mode '${mode}' needs sessions of its own, but ${address} pools transactions ` +
      `(such as pgbouncer with pool_mode = transaction): ${reason}, so that locks would be taken on one session and ` +
      `given back on another. Use mode 'table', which works there; or lockInTransaction(), whose lock lives as long as ` +
      'your transaction; or connect past the pooler.',
  );
}
