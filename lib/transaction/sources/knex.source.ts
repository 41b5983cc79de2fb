import { rowsOf, type TransactionSession } from '../sql-transaction.js';
import { call, dialectOf, has, isShape, refused } from './shape.js';

/** Knex's Transaction, nested ones included. */
export function knexSource(tx: unknown): TransactionSession | undefined {
  if (!has(tx, 'raw') || !isShape(tx['client']) || !('isTransaction' in tx)) return undefined;
  if (tx['isTransaction'] !== true) throw refused('a Knex instance, not the trx that transaction() hands over');
  const name = tx['client']['dialect'];
  const dialect = dialectOf(name);
  if (dialect === undefined) throw refused(`a transaction of Knex on ${String(name)}`);
  return { dialect, connection: tx, query: async (text) => rowsOf(await call(tx, 'raw', text)) };
}
