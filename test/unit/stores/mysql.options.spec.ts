import { afterEach, describe, expect, it } from '@jest/globals';
import callbackMysql from 'mysql2';
import mysql from 'mysql2/promise';
import { mysqlSchema, mysqlStore, type MysqlStoreOptions } from '../../../lib/stores/mysql/index.js';
import { addressOf } from '../../../lib/stores/mysql/mysql.address.js';
import { readMysqlOptions } from '../../../lib/stores/mysql/mysql-store.options.js';

const connection = 'mysql://user:hunter2@localhost/app';

const ends: (() => unknown)[] = [];
afterEach(async () => {
  for (const end of ends.splice(0)) await end();
});

function problem(options: object): string {
  try {
    mysqlStore(options as MysqlStoreOptions);
  } catch (error) {
    expect(error).toMatchObject({ code: 'LOCK_OPTIONS' });
    return (error as Error).message;
  }
  return '';
}

describe('mysqlStore()', () => {
  it.each([
    [{}, 'neither pool nor connection'],
    [{ connection, pool: {} }, 'both pool and connection'],
    [{ connection, tabel: 'x' }, 'mysqlStore: there is no option "tabel". There are: pool, connection,'],
    [{ connection, mode: 'advisory' }, "mode is 'advisory', but must be one of 'table', 'row', 'named'"],
    [{ connection, table: 'a`b' }, 'table'],
    [{ connection, createTable: 'no' }, 'createTable'],
    [{ connection, pollInterval: '0ms' }, 'pollInterval'],
    [{ connection, mode: 'row', keepAlive: 10 }, 'keepAlive'],
    [{ connection, maxConnections: 0 }, 'maxConnections'],
    [{ connection: { connectionLimit: 4 }, maxConnections: 5 }, '4 or less'],
    [{ connection: { connectionLimit: 4 }, mode: 'row', maxConnections: 3 }, '2 or less'],
    [{ pool: { query: () => undefined } }, 'without a method getConnection(), but must be a pool of mysql2'],
    [{ pool: 'mysql://user:hunter2@localhost' }, 'pool is a string, but must be a pool of mysql2'],
    [
      { connection, mode: 'row', pollInterval: '1s' },
      "pollInterval is for mode 'table', and does nothing in mode 'row'",
    ],
    [{ connection, mode: 'named', pollInterval: '1s' }, "pollInterval is for mode 'table'"],
    [{ connection, keepAlive: '1s' }, "keepAlive is for mode 'row' or 'named', and does nothing in mode 'table'"],
    [{ connection: 'postgres://user:hunter2@localhost/app' }, "begins with 'mysql:'"],
    [{ connection: 'user:hunter2@localhost' }, "begins with 'mysql:'"],
  ])('refuses %j', (options, message) => {
    expect(problem(options)).toContain(message);
    expect(problem(options)).not.toContain('hunter2');
  });

  it.each([
    { connection },
    { connection: new URL(connection), mode: 'row' },
    { connection: 'mariadb://localhost/app', mode: 'named' },
    { connection: { host: 'localhost', user: 'user', password: 'hunter2' }, table: 'locks', maxConnections: 3 },
    { connection, mode: 'row', keepAlive: '1s', pollInterval: undefined },
  ])('takes %j without connecting', (options) => {
    expect(problem(options)).toBe('');
  });
});

describe('a pool of your own', () => {
  const made = <T extends { end(): unknown }>(client: T): T => {
    ends.push(() => client.end());
    return client;
  };
  const pool = (connectionLimit: number) => made(mysql.createPool({ host: 'localhost', connectionLimit }));

  it.each(['row', 'named'] as const)('must have room for those that look on, in mode %s', (mode) => {
    for (const limit of [1, 2]) {
      const message = `the pool's connectionLimit is ${limit}, but must be 3 or more in mode '${mode}'`;
      expect(problem({ pool: pool(limit), mode })).toContain(message);
    }
    expect(problem({ pool: pool(5), mode, maxConnections: 4 })).toContain("3 or less: the pool's connectionLimit is 5");
    expect(problem({ pool: pool(5), mode, maxConnections: 3 })).toBe('');
    expect(readMysqlOptions({ pool: pool(5), mode }).maxConnections).toBe(3);
    expect(readMysqlOptions({ pool: pool(50), mode }).maxConnections).toBe(10);
    // No limit.
    expect(readMysqlOptions({ pool: pool(0), mode }).maxConnections).toBe(10);
    expect(
      readMysqlOptions({ pool: made(callbackMysql.createPool({ connectionLimit: 4 })), mode }).maxConnections,
    ).toBe(2);
  });

  it('may be of any size in mode table, and says by itself how large it is', () => {
    expect(problem({ pool: pool(1) })).toBe('');
    expect(problem({ pool: pool(5), maxConnections: 3 })).toContain(
      "maxConnections is for mode 'row' or 'named', and does nothing in mode 'table' with a pool of your own",
    );
  });

  it('is no single connection', () => {
    const connection = callbackMysql.createConnection({ host: '127.0.0.1', port: 1 });
    connection.on('error', () => undefined);
    for (const single of [connection, connection.promise()]) {
      expect(problem({ pool: single })).toContain('pool is a single connection, but must be a pool of mysql2');
    }
    connection.destroy();
  });
});

describe('where the server is', () => {
  it.each([
    [{ uri: connection }, 'localhost:3306/app'],
    [{ uri: 'mysql://user:hunter2@db:3307' }, 'db:3307'],
    [{ host: 'db', port: 3307, database: 'app', password: 'hunter2' }, 'db:3307/app'],
    [{ socketPath: '/run/mysqld/mysqld.sock', database: 'app' }, '/run/mysqld/mysqld.sock/app'],
    [undefined, 'localhost:3306'],
  ])('%j is %s', (settings, address) => {
    expect(addressOf(settings)).toBe(address);
  });
});

describe('mysqlSchema()', () => {
  it('gives the statements of one mode, for one table name', () => {
    const create = (name: string) =>
      expect.stringMatching(new RegExp(`^CREATE TABLE IF NOT EXISTS \`${name}\` .*[^;]$`, 's'));
    expect(mysqlSchema()).toContainEqual(create('distributed_lock_waiter'));
    expect(mysqlSchema({ mode: 'row', table: 'locks' })).toEqual([create('locks_hold'), create('locks_row')]);
    expect(mysqlSchema({ mode: 'named' })).toEqual([create('distributed_lock_named')]);
    expect(() => mysqlSchema({ table: 'no good' })).toThrow('table');
    expect(() => mysqlSchema({ mode: 'other' as never })).toThrow('mode');
  });
});
