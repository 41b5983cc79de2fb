import { rowsOf, type TransactionSession } from '../sql-transaction.js';
import { call, dialectOf, has, isShape, refused, type Shape } from './shape.js';

/** TypeORM's EntityManager within a transaction, and its QueryRunner. */
export function typeormSource(tx: unknown): TransactionSession | undefined {
  if (has(tx, 'createQueryRunner', 'initialize')) throw refused('a DataSource of TypeORM, which is no transaction');
  if (has(tx, 'query', 'startTransaction', 'commitTransaction')) return fromRunner(tx);
  if (!has(tx, 'query', 'transaction', 'getRepository')) return undefined;
  const { queryRunner } = tx;
  if (!has(queryRunner, 'query'))
    throw refused("TypeORM's own EntityManager, not the one that transaction() hands over");
  return fromRunner(queryRunner);
}

function fromRunner(runner: Shape): TransactionSession {
  if (runner['isTransactionActive'] === false) throw refused('a QueryRunner of TypeORM with no transaction started');
  // `dataSource` in TypeORM 1, `connection` before.
  const source = runner['dataSource'] ?? runner['connection'];
  const type = isShape(source) && isShape(source['options']) ? source['options']['type'] : undefined;
  const dialect = dialectOf(type);
  if (dialect === undefined) throw refused(`a transaction of TypeORM on ${String(type)}`);
  return { dialect, connection: runner, query: async (text) => rowsOf(await call(runner, 'query', text)) };
}
