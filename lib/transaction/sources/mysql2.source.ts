import { rowsOf, type Row, type TransactionSession } from '../sql-transaction.js';
import { call, has, isShape, refused, type Shape } from './shape.js';

/** mysql2's connections, of `mysql2` (callbacks) and of `mysql2/promise`. */
export function mysql2Source(tx: unknown): TransactionSession | undefined {
  if (!has(tx, 'query', 'execute')) return undefined;
  if (has(tx, 'getConnection')) {
    throw refused(
      'a Pool of mysql2, which runs each statement anywhere',
      'a connection from pool.getConnection() after its beginTransaction()',
    );
  }
  // The promise flavour is a wrapper: what is below it stands for the connection.
  const { connection } = tx;
  const core = has(connection, 'query', 'execute') ? connection : tx;
  // The connections of a pool share it.
  const { config } = core;
  if (!('threadId' in core) || !isShape(config)) return undefined;
  return { dialect: 'mysql', connection: core, origin: config, query: (text) => run(core, text) };
}

// What a connection may be set up to give instead of plain rows.
const PLAIN = { rowsAsArray: false, nestTables: false, typeCast: true };

function run(core: Shape, text: string): Promise<readonly Row[]> {
  return new Promise((resolve, reject) => {
    call(core, 'query', { sql: text, ...PLAIN }, (error: Error | null, result: unknown) => {
      if (error) reject(error);
      else resolve(rowsOf(result));
    });
  });
}
