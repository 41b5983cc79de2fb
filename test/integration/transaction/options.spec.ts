import { describe, expect, it } from '@jest/globals';
import { LockErrorCode } from '../../../lib/errors/index.js';
import { lockInTransaction, transactionSchema, type TransactionSource } from '../../../lib/transaction/index.js';

const tx = { dialect: 'postgres' as const, query: async () => [] };
const lock = (given: unknown, key: unknown, options?: unknown): Promise<unknown> =>
  lockInTransaction(given as TransactionSource, key as string, options as object);

describe('what lockInTransaction is called with', () => {
  it.each([undefined, null, '', Number.NaN, {}, [], 'half \ud800'])('refuses the key %p', async (key) => {
    await expect(lock(tx, key)).rejects.toMatchObject({ code: LockErrorCode.Key });
  });

  it.each([undefined, null, 'tx', {}, () => undefined, { query: () => undefined }, { dialect: 'postgres' }])(
    'refuses %p as a transaction, and names what is accepted',
    async (given) => {
      await expect(lock(given, 'k')).rejects.toMatchObject({
        code: LockErrorCode.Options,
        message: expect.stringMatching(/pg.*mysql2.*TypeORM.*Knex.*Kysely.*dialect/),
      });
    },
  );

  it.each([
    [{ waitt: 1 }, /unknown option 'waitt'/],
    [{ wait: -1 }, /wait/],
    [{ wait: 'soon' }, /wait/],
    [{ mode: 'named' }, /mode is 'named'/],
    [{ fencing: 'yes' }, /fencing/],
    [{ table: 'a"; DROP TABLE b' }, /table/],
    [{ commandTimeout: Infinity }, /commandTimeout/],
    [[], /options/],
    [null, /options/],
  ])('refuses the options %p', async (options, message) => {
    await expect(lock(tx, 'k', options)).rejects.toMatchObject({
      code: LockErrorCode.Options,
      message: expect.stringMatching(message),
    });
  });

  it('refuses advisory locks on MySQL, and says why', async () => {
    await expect(lock({ ...tx, dialect: 'mysql' }, 'k', { mode: 'advisory' })).rejects.toMatchObject({
      code: LockErrorCode.Options,
      message: expect.stringContaining('a commit would not release it'),
    });
  });

  it('refuses an adapter that gives no rows', async () => {
    await expect(lock(tx, 'k', { mode: 'row' })).rejects.toMatchObject({
      code: LockErrorCode.Options,
      message: expect.stringContaining('no rows'),
    });
  });

  it.each([[[[1]]], [{ rows: [[1]] }], [[[[1]], []]]])('refuses an adapter that gives its rows as %j', async (rows) => {
    await expect(lock({ ...tx, query: async () => rows }, 'k', { mode: 'row' })).rejects.toMatchObject({
      code: LockErrorCode.Options,
      message: expect.stringContaining('rows as objects'),
    });
  });

  it('finds the code of the server in the errors that libraries wrap', async () => {
    const inside = Object.assign(new Error('deep'), { code: '25P01' });
    const wrappers = [
      { driverError: inside },
      { cause: inside },
      { code: 'P2010', meta: { code: '25P01' } },
      { previous: { cause: inside } },
    ];
    for (const wrapper of wrappers) {
      const query = async (): Promise<never> => {
        throw Object.assign(new Error('wrapped'), wrapper);
      };
      await expect(lock({ dialect: 'postgres', query }, 'k')).rejects.toMatchObject({
        code: LockErrorCode.Options,
        message: expect.stringContaining('not in a transaction'),
      });
    }
  });

  it('gives a schema for either dialect, and for no other', () => {
    expect(transactionSchema('postgres', 'locks').join()).toMatch(/"locks".*"locks_fence"/s);
    expect(transactionSchema('mariadb')).toEqual(transactionSchema('mysql'));
    expect(() => transactionSchema('oracle' as never)).toThrow(/'postgres', 'mysql' or 'mariadb'/);
    expect(() => transactionSchema('mysql', 'a b')).toThrow(/identifier/);
  });
});
