import { rowsOf, type TransactionSession } from '../sql-transaction.js';
import { call, dialectOf, has, isShape, refused, type Shape } from './shape.js';

const MANAGER = 'the manager that dataSource.transaction(async (manager) => …) gives, within its callback';
const RUNNER = 'a QueryRunner between its startTransaction() and its commitTransaction()';

/** TypeORM's EntityManager within a transaction, and its QueryRunner. */
export function typeormSource(tx: unknown): TransactionSession | undefined {
  if (has(tx, 'createQueryRunner', 'initialize')) {
    throw refused('a DataSource of TypeORM, which runs each statement anywhere', MANAGER);
  }
  if (has(tx, 'query', 'startTransaction', 'commitTransaction')) return fromRunner(tx, 'a QueryRunner', RUNNER);
  if (!has(tx, 'query', 'transaction', 'getRepository')) return undefined;
  const { queryRunner } = tx;
  if (!has(queryRunner, 'query')) {
    throw refused("a DataSource's own EntityManager of TypeORM, which runs each statement anywhere", MANAGER);
  }
  return fromRunner(queryRunner, 'an EntityManager', MANAGER);
}

function fromRunner(runner: Shape, what: string, instead: string): TransactionSession {
  if (runner['isReleased'] === true)
    throw refused(`${what} of TypeORM that is released: its transaction has ended already`, instead);
  if (runner['isTransactionActive'] === false) throw refused(`${what} of TypeORM with no transaction open`, instead);
  // `dataSource` in TypeORM 1, `connection` before.
  const source = runner['dataSource'] ?? runner['connection'];
  const type = isShape(source) && isShape(source['options']) ? source['options']['type'] : undefined;
  const dialect = dialectOf(type);
  if (dialect === undefined) throw refused(`${what} of TypeORM on ${String(type)}`);
  return {
    dialect,
    connection: runner,
    origin: isShape(source) ? source : runner,
    query: async (text) => rowsOf(await call(runner, 'query', text)),
  };
}
