import { afterAll, beforeAll, describe } from '@jest/globals';
import { sharedPostgres } from '../../support/postgres-server.js';
import { transactionSchema } from '../../../lib/transaction/index.js';
import { everyClient } from './every-client.js';
import { poolOf, postgresClients } from './postgres.clients.js';

describe('lockInTransaction on PostgreSQL', () => {
  let server: Awaited<ReturnType<typeof sharedPostgres>>;
  beforeAll(async () => {
    server = await sharedPostgres();
    const pool = poolOf(server.url);
    for (const statement of transactionSchema('postgres')) await pool.query(statement);
    await pool.query('CREATE TABLE IF NOT EXISTS counter (id text PRIMARY KEY, value int NOT NULL)');
    await pool.end();
  });
  afterAll(() => server?.stop());

  for (const [name, make] of Object.entries(postgresClients))
    everyClient(name, make, ['advisory', 'row'], () => server.url);
});
