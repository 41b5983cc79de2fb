import { describe, expect, it } from '@jest/globals';
import knex from 'knex';
import { DummyDriver, Kysely, PostgresAdapter, PostgresIntrospector, PostgresQueryCompiler } from 'kysely';
import mysql from 'mysql2';
import pg from 'pg';
import { DataSource } from 'typeorm';
import { LockErrorCode } from '../../../lib/errors/index.js';
import { lockInTransaction, type TransactionSource } from '../../../lib/transaction/index.js';

/** What is said of something that is no open transaction. */
async function refusal(tx: unknown): Promise<string> {
  const error = await lockInTransaction(tx as TransactionSource, 'k').then(
    () => undefined,
    (reason: unknown) => reason as Error,
  );
  expect(error).toMatchObject({ code: LockErrorCode.Options });
  return error!.message;
}

const kysely = (): Kysely<unknown> =>
  new Kysely<unknown>({
    dialect: {
      createAdapter: () => new PostgresAdapter(),
      createDriver: () => new DummyDriver(),
      createIntrospector: (db) => new PostgresIntrospector(db),
      createQueryCompiler: () => new PostgresQueryCompiler(),
    },
  });

describe('what lockInTransaction says of what is no open transaction', () => {
  it.each(['pg', 'mysql2'])('a Knex instance on %s', async (client) => {
    expect(await refusal(knex({ client }))).toMatch(/tx is a Knex instance.*Hand over the trx that knex\.transaction/);
  });

  it('a Kysely instance', async () => {
    expect(await refusal(kysely())).toMatch(/tx is a Kysely instance.*Hand over the trx that db\.transaction/);
  });

  it.each(['commit', 'rollback'] as const)('a ControlledTransaction of Kysely after %s', async (end) => {
    const trx = await kysely().startTransaction().execute();
    await trx[end]().execute();
    expect(await refusal(trx)).toMatch(/tx is a Transaction of Kysely that has ended already/);
  });

  it('a Transaction of Kysely after its callback', async () => {
    const trx = await kysely()
      .transaction()
      .execute(async (given) => given);
    expect(await refusal(trx)).toMatch(/tx is a transaction that has ended already/);
    const adapter = { dialect: 'mysql', query: (sql: string) => trx.executeQuery({ sql } as never) };
    expect(await refusal(adapter)).toMatch(/tx is a transaction that has ended already/);
  });

  it('a Transaction of Knex that is completed', async () => {
    const query = async (): Promise<never> => {
      throw new Error('Transaction query already complete, run with DEBUG=knex:tx for more info');
    };
    const trx = { raw: query, transaction: query, client: { dialect: 'postgresql' }, isTransaction: true };
    expect(await refusal({ ...trx, isCompleted: () => true })).toMatch(/a Transaction of Knex that has ended already/);
    expect(await refusal(trx)).toMatch(/tx is a transaction that has ended already/);
  });

  it('a DataSource of TypeORM, and what it has', async () => {
    const source = new DataSource({ type: 'postgres' });
    expect(await refusal(source)).toMatch(/tx is a DataSource of TypeORM.*Hand over the manager that/);
    expect(await refusal(source.manager)).toMatch(/tx is a DataSource's own EntityManager.*Hand over the manager that/);
    const runner = source.createQueryRunner();
    const manager = source.createEntityManager(runner);
    expect(await refusal(runner)).toMatch(
      /tx is a QueryRunner .* no transaction open.*Hand over a QueryRunner between/,
    );
    expect(await refusal(manager)).toMatch(/tx is an EntityManager .* no transaction open.*Hand over the manager that/);
    await runner.release();
    expect(await refusal(runner)).toMatch(/tx is a QueryRunner .* ended already.*Hand over a QueryRunner between/);
    expect(await refusal(manager)).toMatch(/tx is an EntityManager .* ended already.*Hand over the manager that/);
  });

  it('a pool', async () => {
    expect(await refusal(new pg.Pool())).toMatch(/tx is a Pool of pg.*Hand over a client from pool\.connect\(\)/);
    const pool = mysql.createPool({});
    for (const given of [pool, pool.promise()]) {
      expect(await refusal(given)).toMatch(
        /tx is a Pool of mysql2.*Hand over a connection from pool\.getConnection\(\)/,
      );
    }
    await pool.promise().end();
  });
});

describe('what lockInTransaction says of a key', () => {
  it.each([undefined, '', 'half \ud800'])('tells of %p what did not happen', async (key) => {
    const tx = { dialect: 'postgres' as const, query: () => Promise.reject(new Error('was asked')) };
    await expect(lockInTransaction(tx, key as string)).rejects.toMatchObject({
      code: LockErrorCode.Key,
      message: expect.stringMatching(/^lockInTransaction\(\): the key (?!.*body).* Nothing was locked\.$/),
    });
  });
});
