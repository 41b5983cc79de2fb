import knex from 'knex';
import { CompiledQuery, Kysely, MysqlDialect } from 'kysely';
import mysql from 'mysql2';
import mysqlPromise from 'mysql2/promise';
import { DataSource } from 'typeorm';
import { between, type MakeClient, type RunSql } from './test-client.js';

export const sqlOf =
  (connection: mysqlPromise.Connection): RunSql =>
  async (text) =>
    (await connection.query(text))[0] as never;

const withPromises: MakeClient = async (url) => {
  const pool = mysqlPromise.createPool({ uri: url, connectionLimit: 12 });
  return {
    transaction: async (body) => {
      const connection = await pool.getConnection();
      try {
        return await between(sqlOf(connection), connection, body);
      } finally {
        connection.release();
      }
    },
    notTransactions: async () => {
      const connection = await pool.getConnection();
      connection.release();
      return { 'a Pool': pool, 'a connection without BEGIN': connection };
    },
    close: () => pool.end(),
  };
};

const withCallbacks: MakeClient = async (url) => {
  const pool = mysql.createPool({ uri: url, connectionLimit: 12 });
  const connect = (): Promise<mysql.PoolConnection> =>
    new Promise((resolve, reject) =>
      pool.getConnection((error, connection) => (error ? reject(error) : resolve(connection))),
    );
  return {
    transaction: async (body) => {
      const connection = await connect();
      try {
        return await between(sqlOf(connection.promise()), connection, body);
      } finally {
        connection.release();
      }
    },
    notTransactions: async () => ({ 'a Pool': pool }),
    close: () => pool.promise().end(),
  };
};

const withAdapter: MakeClient = async (url) => {
  const pool = mysqlPromise.createPool({ uri: url, connectionLimit: 12 });
  return {
    transaction: async (body) => {
      const connection = await pool.getConnection();
      try {
        const adapter = { dialect: 'mariadb' as const, query: (text: string) => connection.query(text) };
        return await between(sqlOf(connection), adapter, body);
      } finally {
        connection.release();
      }
    },
    notTransactions: async () => ({
      'an adapter on a pool': { dialect: 'mysql', query: (text: string) => pool.query(text) },
    }),
    close: () => pool.end(),
  };
};

const withTypeorm: MakeClient = async (url) => {
  const source = await new DataSource({ type: 'mariadb', url, poolSize: 12 }).initialize();
  return {
    transaction: (body) => source.transaction((manager) => body(manager, (text) => manager.query(text))),
    notTransactions: async () => ({ 'a DataSource': source, 'the own EntityManager': source.manager }),
    close: () => source.destroy(),
  };
};

const withKnex: MakeClient = async (url) => {
  const db = knex({ client: 'mysql2', connection: url, pool: { min: 0, max: 12 } });
  return {
    transaction: (body) => db.transaction((trx) => body(trx, async (text) => (await trx.raw(text))[0])),
    notTransactions: async () => ({ 'a Knex instance': db }),
    close: () => db.destroy(),
  };
};

const withKysely: MakeClient = async (url) => {
  const pool = mysql.createPool({ uri: url, connectionLimit: 12 });
  const db = new Kysely<unknown>({ dialect: new MysqlDialect({ pool }) });
  return {
    transaction: (body) =>
      db
        .transaction()
        .execute((trx) => body(trx, async (text) => (await trx.executeQuery(CompiledQuery.raw(text))).rows as never)),
    notTransactions: async () => ({ 'a Kysely instance': db }),
    close: () => db.destroy(),
  };
};

export const mysqlClients: Readonly<Record<string, MakeClient>> = {
  'mysql2/promise': withPromises,
  'mysql2 with callbacks': withCallbacks,
  'an adapter': withAdapter,
  'typeorm EntityManager': withTypeorm,
  knex: withKnex,
  kysely: withKysely,
};
