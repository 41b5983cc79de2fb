import { describe, expect, it } from '@jest/globals';
import { fork } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import mysql from 'mysql2/promise';
import pg from 'pg';
import { transactionSchema } from '../../../lib/transaction/index.js';
import { sharedMariadb } from '../../support/mariadb-server.js';
import { sharedPostgres } from '../../support/postgres-server.js';

const PROCESSES = 4;
const TIMES = 50;
const KEY = 'counter-of-processes';
const TABLE = 'CREATE TABLE IF NOT EXISTS counter (id VARCHAR(64) PRIMARY KEY, value INT NOT NULL)';
const ROW = `INSERT INTO counter (id, value) VALUES ('${KEY}', 0)`;
const VALUE = `SELECT value FROM counter WHERE id = '${KEY}'`;

/** @returns the exit codes */
function race(server: string, url: string): Promise<number[]> {
  const script = join(process.cwd(), 'test/integration/transaction/counter.worker.ts');
  return Promise.all(
    Array.from({ length: PROCESSES }, async () => {
      const child = fork(script, [server, url, KEY, String(TIMES)], {
        execArgv: ['--disable-warning=ExperimentalWarning', '--import', 'tsx'],
        env: { ...process.env, NODE_OPTIONS: '' },
      });
      const end = (): void => void child.kill('SIGKILL');
      process.once('exit', end);
      const [code] = (await once(child, 'exit')) as [number];
      process.off('exit', end);
      return code;
    }),
  );
}

describe('processes that lock in their transactions', () => {
  it('lose no update on PostgreSQL', async () => {
    const server = await sharedPostgres();
    const client = new pg.Client(server.url);
    try {
      await client.connect();
      for (const statement of [TABLE, ROW]) await client.query(statement);
      expect(await race('postgres', server.url)).toEqual(Array(PROCESSES).fill(0));
      expect((await client.query(VALUE)).rows).toEqual([{ value: (PROCESSES * TIMES) / 2 }]);
      await client.query(`DELETE FROM counter WHERE id = '${KEY}'`);
    } finally {
      await client.end();
      await server.stop();
    }
  }, 60_000);

  it('lose no update on MariaDB', async () => {
    const server = await sharedMariadb();
    const connection = await mysql.createConnection(server.url);
    try {
      for (const statement of [...transactionSchema('mysql'), TABLE, ROW]) await connection.query(statement);
      expect(await race('mysql', server.url)).toEqual(Array(PROCESSES).fill(0));
      expect((await connection.query(VALUE))[0]).toEqual([{ value: (PROCESSES * TIMES) / 2 }]);
      await connection.query(`DELETE FROM counter WHERE id = '${KEY}'`);
    } finally {
      await connection.end();
      await server.stop();
    }
  }, 60_000);
});
