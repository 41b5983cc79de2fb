import { rowsOf, type TransactionSession } from '../sql-transaction.js';
import { call, has, refused } from './shape.js';

/** pg's Client, PoolClient and native Client. */
export function pgSource(tx: unknown): TransactionSession | undefined {
  if (!has(tx, 'query')) return undefined;
  if (has(tx, 'connect') && 'totalCount' in tx) {
    throw refused('a Pool of pg, which runs each statement anywhere', 'a client from pool.connect() after its BEGIN');
  }
  if (!('connectionParameters' in tx)) return undefined;
  return {
    dialect: 'postgres',
    connection: tx,
    origin: tx,
    query: async (text) => rowsOf(await call(tx, 'query', text)),
  };
}
