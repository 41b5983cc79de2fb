import { expect, test } from '@jest/globals';
import { LockErrorCode } from '../../../lib/errors/index.js';
import { postgresSchema, postgresStore, type PostgresStoreOptions } from '../../../lib/stores/postgres/index.js';
import { postgresSettings } from '../../../lib/stores/postgres/postgres.options.js';
import { toLockError } from '../../../lib/stores/postgres/postgres.errors.js';

const connection = 'postgres://app:s3cret@db.example:5433/shop';
const pool = (max?: number) => ({
  connect: () => Promise.reject(new Error('not in this test')),
  on: () => undefined,
  removeListener: () => undefined,
  options: { host: 'db.example', ...(max === undefined ? {} : { max }) },
});

const wrong: [what: string, options: unknown, says: RegExp][] = [
  ['no options', undefined, /undefined/],
  ['neither a pool nor a connection', {}, /neither pool nor connection/],
  ['both', { pool: pool(), connection }, /both pool and connection/],
  ['an option that is not known', { connection, polInterval: 1 }, /"polInterval".*pollInterval/],
  ['a mode that is not known', { connection, mode: 'session' }, /mode is 'session'.*'table', 'row' or 'advisory'/],
  ['a pool without connect()', { pool: { on: () => undefined } }, /without a method connect/],
  ['a client for a pool', { pool: { ...pool(), processID: 1 } }, /a single client/],
  ['another protocol', { connection: 'mysql://app:s3cret@db' }, /not a URL such as/],
  ['a table that is no identifier', { connection, table: 'a"; DROP TABLE b' }, /table is/],
  ['a table whose companions would be cut off', { connection, table: 't'.repeat(49) }, /48 characters/],
  ['a schema that is no identifier', { connection, schema: 'a.b' }, /schema is 'a.b'/],
  ['a channel that is no identifier', { connection, channel: `a'b` }, /channel is/],
  ['a duration that is none', { connection, keepAlive: 'soon' }, /keepAlive is 'soon'/],
  ['no time at all', { connection, commandTimeout: 0 }, /commandTimeout is 0/],
  ['no sessions', { connection, mode: 'row', maxConnections: 0 }, /maxConnections is 0/],
  [
    'what only sessions know, for a table',
    { connection, maxConnections: 3 },
    /maxConnections is for mode 'row' or 'advisory', and does nothing in mode 'table'; the size of a pool/,
  ],
  ['a channel where nothing is announced', { connection, mode: 'row', channel: 'x' }, /channel is for mode 'table'/],
  ['a poll where nobody polls', { connection, mode: 'advisory', pollInterval: 9 }, /pollInterval is for mode 'table'/],
  [
    'as many sessions as the pool has',
    { pool: pool(5), mode: 'row', maxConnections: 5 },
    /less than the pool's max \(5\)/,
  ],
  ['a pool of one for sessions', { pool: pool(1), mode: 'advisory' }, /pool of at least 2/],
  ['a pool of its own of one for sessions', { connection: { max: 1 }, mode: 'row' }, /pool of at least 2/],
  [
    'as many sessions as its own pool has',
    { connection: { max: 4 }, mode: 'advisory', maxConnections: 4 },
    /less than the pool's max \(4\)/,
  ],
  ['a switch that is none', { connection, createTable: 'no' }, /createTable is 'no'/],
];

test.each(wrong)('refuses %s', (_, options, says) => {
  let error: Error | undefined;
  try {
    postgresStore(options as PostgresStoreOptions);
  } catch (thrown) {
    error = thrown as Error;
  }
  expect(error).toMatchObject({ code: LockErrorCode.Options });
  expect(error?.message).toMatch(says);
  expect(JSON.stringify([error?.message, error?.cause])).not.toContain('s3cret');
});

test('accepts a pool, a URL, an URL object and options of pg', () => {
  for (const options of [{ pool: pool(10) }, { connection }, { connection: new URL(connection) }, { connection: {} }]) {
    expect(postgresStore(options).name).toBe('postgres');
  }
});

test('the max of a pool of its own counts as that of another pool does', () => {
  const settings = (max?: number) => postgresSettings({ connection: max === undefined ? {} : { max }, mode: 'row' });
  expect([settings(4).maxConnections, settings(30).maxConnections, settings().maxConnections]).toEqual([3, 10, 10]);
  expect(postgresSettings({ connection: { max: 1 } }).listens).toBe(false);
  expect(postgresSettings({ connection }).listens).toBe(true);
});

test('each mode says what it promises', () => {
  const promises = (mode: 'table' | 'row' | 'advisory') => postgresStore({ connection, mode }).guarantees;
  expect(promises('table')).toMatchObject({ expiry: 'lease', fifo: true });
  expect(promises('row')).toMatchObject({ expiry: 'connection', fifo: false });
  expect(promises('advisory')).toMatchObject({ expiry: 'connection', fifo: true });
});

test('the schema names what a mode needs and nothing else', () => {
  expect(postgresSchema({ table: 'mine', schema: 'app' })).toMatch(/"app"\."mine_waiter"/);
  expect(postgresSchema({ mode: 'advisory' })).not.toContain('CREATE TABLE');
  expect(postgresSchema({ mode: 'row' })).toContain('"distributed_lock_row"');
  expect(() => postgresSchema({ table: '1' })).toThrow(/plain identifier/);
});

test.each([
  ['28P01', false, /login was refused/],
  ['42501', false, /lacks a permission/],
  ['42P01', false, /does not exist/],
  ['40P01', true, /deadlock/],
  ['55P03', true, /lock timeout/],
  ['25006', true, /this server is read-only, connect to the primary/],
  ['57P01', true, /deadlock|terminat|lock timeout/],
])('an error of class %s is unavailable, and says whether waiting helps', (code, retryable, says) => {
  const cause = Object.assign(new Error('deadlock detected, terminated, or lock timeout'), { code });
  const error = toLockError(cause, 'db:5432/shop');
  expect(error).toMatchObject({ code: LockErrorCode.Unavailable, retryable, cause });
  expect(error.message).toMatch(says);
});
