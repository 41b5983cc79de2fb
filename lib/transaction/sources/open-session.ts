import { show } from '../../options/duration.js';
import { rowsOf, type SqlTransaction, type TransactionSession } from '../sql-transaction.js';
import { knexSource } from './knex.source.js';
import { kyselySource } from './kysely.source.js';
import { mysql2Source } from './mysql2.source.js';
import { pgSource } from './pg.source.js';
import { dialectOf, has, refused } from './shape.js';
import { typeormSource } from './typeorm.source.js';

// What has most methods of its own goes first: TypeORM's runner could pass for others' connections.
const SOURCES = [adapterSource, typeormSource, kyselySource, knexSource, pgSource, mysql2Source];

/**
 * Finds out whose transaction `tx` is.
 *
 * @throws LockOptionsError, naming what is accepted, when it is nobody's, or visibly no transaction
 */
export function openSession(tx: unknown): TransactionSession {
  for (const source of SOURCES) {
    const session = source(tx);
    if (session) return session;
  }
  throw refused(show(tx));
}

function adapterSource(tx: unknown): TransactionSession | undefined {
  if (!has(tx, 'query') || typeof tx['dialect'] !== 'string') return undefined;
  const dialect = dialectOf(tx['dialect']);
  if (dialect === undefined) throw refused(`an adapter for the dialect ${show(tx['dialect'])}`);
  const adapter = tx as unknown as SqlTransaction;
  return { dialect, connection: adapter, origin: adapter, query: async (text) => rowsOf(await adapter.query(text)) };
}
