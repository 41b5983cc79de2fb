import { describe, expect, it } from '@jest/globals';
import { LockOptionsError } from '../../../lib/errors/index.js';
import { sqliteSchema, sqliteStore, type SqliteStoreOptions } from '../../../lib/stores/sqlite/index.js';
import { readSqliteOptions } from '../../../lib/stores/sqlite/sqlite-store.options.js';

describe('the options of sqliteStore()', () => {
  const filename = '/tmp/locks.db';

  it('have the documented defaults', () => {
    expect(readSqliteOptions({ filename })).toEqual({
      filename,
      driver: undefined,
      tables: {
        lock: 'distributed_lock',
        waiter: 'distributed_lock_waiter',
        waiterIndex: 'distributed_lock_waiter_key',
        fence: 'distributed_lock_fence',
        row: 'distributed_lock_row',
      },
      createTable: true,
      pollInterval: 20,
      commandTimeout: 1_000,
      journalMode: 'wal',
    });
  });

  it('take a relative path from the working directory of the moment', () => {
    expect(readSqliteOptions({ filename: 'a.db' }).filename).toBe(`${process.cwd()}/a.db`);
  });

  it.each<[string, unknown, RegExp]>([
    ['no options', undefined, /the options are undefined, but must be an object/],
    ['no filename', {}, /filename is undefined/],
    ['an in-memory database', { filename: ':memory:' }, /no other process can see.*memoryStore/],
    ['a temporary database', { filename: '' }, /no other process can see.*memoryStore/],
    ['a URI', { filename: 'file:locks.db?mode=memory' }, /without a "file:" scheme/],
    ['blanks around the name, which one driver trims', { filename: 'locks.db ' }, /without blanks/],
    ['a NUL in the name', { filename: 'a\0b' }, /path/],
    ['a name that is not text', { filename: Buffer.from('a') }, /filename is an object/],
    [
      'an unknown option',
      { filename, pollIntervall: 5 },
      /sqliteStore: there is no option "pollIntervall"\. There are: .*pollInterval/,
    ],
    ['an unknown driver', { filename, driver: 'sqlite3' }, /driver is 'sqlite3'.*'better-sqlite3', 'node:sqlite'/],
    ['a connection instead of its class', { filename, driver: {} }, /driver is an object/],
    ['a table name with a quote', { filename, table: 'a"b' }, /table is 'a"b'.*plain identifier/],
    ['a table name with a schema', { filename, table: 'main.locks' }, /plain identifier/],
    ['an empty table name', { filename, table: '' }, /plain identifier/],
    ['a table name that is too long', { filename, table: 'a'.repeat(49) }, /48 characters/],
    ['a reserved table name', { filename, table: 'SQLite_locks' }, /sqlite_/],
    ['createTable as text', { filename, createTable: 'no' }, /createTable is 'no'/],
    ['an unknown journal mode', { filename, journalMode: 'off' }, /journalMode is 'off'/],
    ['a poll interval of 0', { filename, pollInterval: 0 }, /pollInterval is 0/],
    ['an endless command timeout', { filename, commandTimeout: Infinity }, /commandTimeout is Infinity/],
    ['a duration without sense', { filename, commandTimeout: 'soon' }, /commandTimeout is 'soon'/],
  ])('refuse %s when the store is made', (_case, options, message) => {
    const make = () => sqliteStore(options as SqliteStoreOptions);
    expect(make).toThrow(LockOptionsError);
    expect(make).toThrow(message);
  });

  it('accept durations as text', () => {
    const { pollInterval, commandTimeout } = readSqliteOptions({ filename, pollInterval: '5ms', commandTimeout: '2s' });
    expect([pollInterval, commandTimeout]).toEqual([5, 2_000]);
  });

  it('sqliteSchema() refuses a name that could not be a table of the store', () => {
    expect(() => sqliteSchema('a"; DROP TABLE b')).toThrow(LockOptionsError);
    expect(sqliteSchema('my_locks')).toContain('"my_locks_waiter"');
  });
});
