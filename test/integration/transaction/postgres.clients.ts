import knex from 'knex';
import { CompiledQuery, Kysely, PostgresDialect } from 'kysely';
import pg from 'pg';
import { DataSource } from 'typeorm';
import { between, type MakeClient, type RunSql } from './test-client.js';

export function poolOf(url: string): pg.Pool {
  const pool = new pg.Pool({ connectionString: url, max: 12 });
  // Tests end connections: that is no accident here.
  pool.on('error', () => undefined);
  return pool;
}

const sqlOf =
  (client: pg.ClientBase): RunSql =>
  async (text) =>
    (await client.query(text)).rows;

const withPg: MakeClient = async (url) => {
  const pool = poolOf(url);
  return {
    transaction: async (body) => {
      const client = await pool.connect();
      try {
        return await between(sqlOf(client), client, body);
      } finally {
        client.release();
      }
    },
    notTransactions: async () => {
      const client = await pool.connect();
      client.release();
      return { 'a Pool': pool, 'a client without BEGIN': client };
    },
    close: () => pool.end(),
  };
};

const withAdapter: MakeClient = async (url) => {
  const pool = poolOf(url);
  return {
    transaction: async (body) => {
      const client = await pool.connect();
      try {
        const adapter = { dialect: 'postgres' as const, query: (text: string) => client.query(text) };
        return await between(sqlOf(client), adapter, body);
      } finally {
        client.release();
      }
    },
    notTransactions: async () => ({
      'an adapter on a pool': { dialect: 'postgres', query: (text: string) => pool.query(text) },
      'an adapter for something else': { dialect: 'oracle', query: () => [] },
    }),
    close: () => pool.end(),
  };
};

const withTypeorm: MakeClient = async (url) => {
  const source = await new DataSource({ type: 'postgres', url, extra: { max: 12 } }).initialize();
  return {
    transaction: (body) => source.transaction((manager) => body(manager, (text) => manager.query(text))),
    notTransactions: async () => ({ 'a DataSource': source, 'the own EntityManager': source.manager }),
    close: () => source.destroy(),
  };
};

const withTypeormRunner: MakeClient = async (url) => {
  const source = await new DataSource({ type: 'postgres', url, extra: { max: 12 } }).initialize();
  return {
    transaction: async (body) => {
      const runner = source.createQueryRunner();
      try {
        await runner.startTransaction();
        const result = await body(runner, (text) => runner.query(text));
        await runner.commitTransaction();
        return result;
      } catch (error) {
        await runner.rollbackTransaction();
        throw error;
      } finally {
        await runner.release();
      }
    },
    notTransactions: async () => ({ 'a QueryRunner that has not started': source.createQueryRunner() }),
    close: () => source.destroy(),
  };
};

const withKnex: MakeClient = async (url) => {
  const db = knex({ client: 'pg', connection: url, pool: { min: 0, max: 12 } });
  return {
    transaction: (body) => db.transaction((trx) => body(trx, async (text) => (await trx.raw(text)).rows)),
    notTransactions: async () => ({ 'a Knex instance': db }),
    close: () => db.destroy(),
  };
};

const withKysely: MakeClient = async (url) => {
  const db = new Kysely<unknown>({ dialect: new PostgresDialect({ pool: poolOf(url) }) });
  return {
    transaction: (body) =>
      db
        .transaction()
        .execute((trx) => body(trx, async (text) => (await trx.executeQuery(CompiledQuery.raw(text))).rows as never)),
    notTransactions: async () => ({ 'a Kysely instance': db }),
    close: () => db.destroy(),
  };
};

export const postgresClients: Readonly<Record<string, MakeClient>> = {
  pg: withPg,
  'an adapter': withAdapter,
  'typeorm EntityManager': withTypeorm,
  'typeorm QueryRunner': withTypeormRunner,
  knex: withKnex,
  kysely: withKysely,
};
