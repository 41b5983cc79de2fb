// A process that adds to a counter under a lock of its transactions. Arguments: server, url, key, times.
import mysql from 'mysql2/promise';
import pg from 'pg';
import { lockInTransaction, type TransactionSource } from '../../../lib/transaction/index.js';

const [server = '', url = '', key = '', times = ''] = process.argv.slice(2);

async function connect(): Promise<{ tx: TransactionSource; sql: (text: string) => Promise<{ value: number }[]> }> {
  if (server === 'postgres') {
    const client = new pg.Client(url);
    await client.connect();
    return { tx: client, sql: async (text) => (await client.query(text)).rows };
  }
  const connection = await mysql.createConnection(url);
  return { tx: connection, sql: async (text) => (await connection.query(text))[0] as never };
}

const { tx, sql } = await connect();
for (let turn = 0; turn < Number(times); turn += 1) {
  await sql('START TRANSACTION');
  await lockInTransaction(tx, key, { wait: '30s' });
  const [row] = await sql(`SELECT value FROM counter WHERE id = '${key}'`);
  await sql(`UPDATE counter SET value = ${row!.value + 1} WHERE id = '${key}'`);
  // Half of the work is thrown away: a rollback must hand the lock on too.
  await sql(turn % 2 === 0 ? 'COMMIT' : 'ROLLBACK');
}
process.exit();
