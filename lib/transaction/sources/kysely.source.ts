import { rowsOf, type TransactionSession } from '../sql-transaction.js';
import { call, has, isShape, refused } from './shape.js';

/** Kysely's Transaction and ControlledTransaction. */
export function kyselySource(tx: unknown): TransactionSession | undefined {
  if (!has(tx, 'executeQuery', 'getExecutor')) return undefined;
  if (tx['isTransaction'] !== true) throw refused('a Kysely instance, not the trx that transaction() hands over');
  const dialect = dialectOfExecutor(call(tx, 'getExecutor'));
  if (dialect === undefined) {
    throw refused(
      'a transaction of Kysely on a server that cannot be told from its adapter; say it yourself: ' +
        "{ dialect: 'postgres', query: (text) => trx.executeQuery(CompiledQuery.raw(text)) }",
    );
  }
  return { dialect, connection: tx, query: async (text) => rowsOf(await call(tx, 'executeQuery', compiled(text))) };
}

function dialectOfExecutor(executor: unknown): TransactionSession['dialect'] | undefined {
  const adapter = isShape(executor) ? executor['adapter'] : undefined;
  // A dialect of somebody else's (Neon, PlanetScale) mostly keeps the adapter of the one that it extends.
  for (let type: unknown = adapter; isShape(type); type = Object.getPrototypeOf(type)) {
    const { constructor } = type;
    const name = typeof constructor === 'function' ? constructor.name : '';
    if (name === 'PostgresAdapter') return 'postgres';
    if (name === 'MysqlAdapter') return 'mysql';
  }
  return undefined;
}

/** What Kysely's `CompiledQuery.raw()` makes: the package itself is not loaded for one object. */
function compiled(sql: string): object {
  const query = { kind: 'RawNode', sqlFragments: [sql], parameters: [] };
  return { sql, parameters: [], query, queryId: { queryId: 'nestjs-distributed-lock' } };
}
