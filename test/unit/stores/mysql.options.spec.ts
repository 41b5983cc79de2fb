import { describe, expect, it } from '@jest/globals';
import { mysqlSchema, mysqlStore, type MysqlStoreOptions } from '../../../lib/stores/mysql/index.js';
import { addressOf } from '../../../lib/stores/mysql/mysql.address.js';

const connection = 'mysql://user:hunter2@localhost/app';

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
    [{ connection, tabel: 'x' }, "unknown option 'tabel'"],
    [{ connection, mode: 'advisory' }, "mode is 'advisory', but must be one of 'table', 'row', 'named'"],
    [{ connection, table: 'a`b' }, 'table'],
    [{ connection, createTable: 'no' }, 'createTable'],
    [{ connection, pollInterval: '0ms' }, 'pollInterval'],
    [{ connection, keepAlive: 10 }, 'keepAlive'],
    [{ connection, maxConnections: 0 }, 'maxConnections'],
    [{ pool: { query: () => undefined } }, 'a pool of mysql2'],
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
  ])('takes %j without connecting', (options) => {
    expect(problem(options)).toBe('');
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
    expect(mysqlSchema()).toContain('CREATE TABLE IF NOT EXISTS `distributed_lock_waiter`');
    expect(mysqlSchema({ mode: 'row', table: 'locks' })).toContain('CREATE TABLE IF NOT EXISTS `locks_row`');
    expect(() => mysqlSchema({ table: 'no good' })).toThrow('table');
    expect(() => mysqlSchema({ mode: 'other' as never })).toThrow('mode');
  });
});
