import { rowsOf, type TransactionSession } from '../sql-transaction.js';
import { call, dialectOf, has, isShape, refused } from './shape.js';

const INSTEAD = 'the trx that knex.transaction(async (trx) => …) gives, within its callback';

/** Knex's Transaction, nested ones included. */
export function knexSource(tx: unknown): TransactionSession | undefined {
  if (!has(tx, 'raw', 'transaction') || !isShape(tx['client'])) return undefined;
  if (tx['isTransaction'] !== true) throw refused('a Knex instance, which runs each statement anywhere', INSTEAD);
  if (has(tx, 'isCompleted') && call(tx, 'isCompleted') === true) {
    throw refused('a Transaction of Knex that has ended already', INSTEAD);
  }
  const { dialect: name, config } = tx['client'];
  const dialect = dialectOf(name);
  if (dialect === undefined) throw refused(`a Transaction of Knex on ${String(name)}`);
  return {
    dialect,
    connection: tx,
    // One object for all transactions of a Knex instance.
    origin: isShape(config) ? config : tx,
    query: async (text) => rowsOf(await call(tx, 'raw', text)),
  };
}
