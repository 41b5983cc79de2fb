import { rowsOf, type TransactionSession } from '../sql-transaction.js';
import { call, has, isShape, refused } from './shape.js';

const INSTEAD = 'the trx that db.transaction().execute(async (trx) => …) gives, within its callback';

/** Kysely's Transaction and ControlledTransaction. */
export function kyselySource(tx: unknown): TransactionSession | undefined {
  if (!has(tx, 'executeQuery', 'getExecutor')) return undefined;
  if (tx['isTransaction'] !== true) throw refused('a Kysely instance, which runs each statement anywhere', INSTEAD);
  // Only a ControlledTransaction tells; of others it shows at the first statement.
  if (tx['isCommitted'] === true || tx['isRolledBack'] === true) {
    throw refused('a Transaction of Kysely that has ended already', INSTEAD);
  }
  const executor = call(tx, 'getExecutor');
  const adapter = isShape(executor) ? executor['adapter'] : undefined;
  const dialect = dialectOfAdapter(adapter);
  if (dialect === undefined) {
    throw refused(
      'a Transaction of Kysely on a server that cannot be told from its adapter',
      "{ dialect: 'postgres' | 'mysql', query: (text) => trx.executeQuery(CompiledQuery.raw(text)) }",
    );
  }
  return {
    dialect,
    connection: tx,
    // One object for all transactions of a Kysely instance.
    origin: isShape(adapter) ? adapter : tx,
    query: async (text) => rowsOf(await call(tx, 'executeQuery', compiled(text))),
  };
}

function dialectOfAdapter(adapter: unknown): TransactionSession['dialect'] | undefined {
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
