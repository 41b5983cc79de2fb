import { afterAll, beforeAll, describe } from '@jest/globals';
import mysql from 'mysql2/promise';
import { sharedMariadb } from '../../support/mariadb-server.js';
import { transactionSchema } from '../../../lib/transaction/index.js';
import { everyClient } from './every-client.js';
import { mysqlClients } from './mysql.clients.js';

describe('lockInTransaction on MariaDB', () => {
  let server: Awaited<ReturnType<typeof sharedMariadb>>;
  beforeAll(async () => {
    server = await sharedMariadb();
    const connection = await mysql.createConnection(server.url);
    for (const statement of transactionSchema('mysql')) await connection.query(statement);
    await connection.query('CREATE TABLE IF NOT EXISTS counter (id VARCHAR(64) PRIMARY KEY, value INT NOT NULL)');
    await connection.end();
  }, 90_000);
  afterAll(() => server?.stop());

  for (const [name, make] of Object.entries(mysqlClients)) {
    everyClient(name, make, ['row'], () => server.url, name !== 'an adapter');
  }
});
