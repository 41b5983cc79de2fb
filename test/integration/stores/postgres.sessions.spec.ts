import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, afterEach, describe, expect, test } from '@jest/globals';
import pg from 'pg';
import { LockErrorCode } from '../../../lib/errors/index.js';
import { postgresStore, type PgClient, type PgPool, type PostgresMode } from '../../../lib/stores/postgres/index.js';
import { restoreSettings, setLimits } from '../../../lib/stores/postgres/session-settings.js';
import { PostgresBackend } from '../../support/postgres-backend.js';
import { until } from '../../support/redis-requests.js';
import { TestEngine } from '../../support/test-engine.js';
import { chosenVariants } from '../../support/variants.js';
import { Fleet } from './postgres.fleet.js';

const MODES = { table: 'table', row: 'row', advisory: 'advisory' } as const;
const SIZE = 3;

const backend = await PostgresBackend.start();
afterAll(() => backend.stop());

const cleanUps: (() => unknown)[] = [];
afterEach(async () => {
  for (const cleanUp of cleanUps.splice(0).reverse()) await cleanUp();
});

const url = backend.directUrl;

async function engine(mode: PostgresMode, shared?: PgPool): Promise<TestEngine> {
  const made = new TestEngine(postgresStore({ mode, ...(shared ? { pool: shared } : { connection: url }) }));
  cleanUps.push(() => made.close());
  await made.engine.open();
  return made;
}

function pool(config: pg.PoolConfig = {}): pg.Pool {
  const made = new pg.Pool({ connectionString: url, max: SIZE, ...config });
  cleanUps.push(() => made.end());
  return made;
}

let keys = 0;
const newKey = (): string => `sessions:${(keys += 1)}`;

class OlderClient extends pg.Client {}
Object.defineProperty(OlderClient.prototype, 'getTransactionStatus', { value: undefined });

/** Passes on what every client has, and nothing of what it knows. */
function secretive(inner: pg.Pool): PgPool {
  const on = inner.on.bind(inner) as PgPool['on'];
  const removeListener = inner.removeListener.bind(inner) as PgPool['removeListener'];
  const connect = async (): Promise<PgClient> => {
    const client = await inner.connect();
    return {
      query: (config) => client.query(config as pg.QueryConfig),
      on: (event, listener) => client.on(event as 'end', listener),
      removeListener: (event, listener) => client.removeListener(event, listener),
      release: (destroy) => client.release(destroy),
    };
  };
  return { connect, on, removeListener, options: inner.options };
}

const clients: [of: string, made: () => { readonly given: PgPool; readonly inner: pg.Pool }][] = [
  ['this pg', () => same(pool())],
  ['an older pg', () => same(pool({ Client: OlderClient }))],
  [
    'a wrapper that tells nothing',
    () => {
      const inner = pool();
      return { given: secretive(inner), inner };
    },
  ],
];

function same(inner: pg.Pool): { readonly given: PgPool; readonly inner: pg.Pool } {
  return { given: inner as unknown as PgPool, inner };
}

/** So many clients go back to their pool, each within a transaction that has written something. */
async function forgetCommits(shared: pg.Pool, count: number): Promise<pg.PoolClient[]> {
  await backend.query('CREATE TABLE IF NOT EXISTS of_the_application (id int)');
  const taken = await Promise.all(Array.from({ length: count }, () => shared.connect()));
  for (const client of taken) {
    await client.query('BEGIN');
    await client.query('INSERT INTO of_the_application VALUES (1)');
    client.release();
  }
  return taken;
}

describe.each(chosenVariants(MODES))('%s', (_, mode) => {
  describe.each(clients)('on clients of %s', (_of, make) => {
    test('a lock is never taken within a transaction that the application left open', async () => {
      const { given, inner } = make();
      const [locks, others] = [await engine(mode, given), await engine(mode)];
      const key = newKey();
      const forgotten = await forgetCommits(inner, SIZE);
      const error: unknown = await locks.acquire(key, { wait: 0 }).catch((reason: unknown) => reason);
      expect(error).toMatchObject({
        code: LockErrorCode.Unavailable,
        message: expect.stringMatching(/within a transaction.*COMMIT or ROLLBACK is missing/),
      });
      // Nothing has become of it.
      for (const client of forgotten) await client.query('COMMIT');
      expect((await backend.query('DELETE FROM of_the_application RETURNING id')).length).toBe(SIZE);
      const hold = await locks.acquire(key);
      await expect(others.acquire(key, { wait: 0 })).rejects.toMatchObject({ code: LockErrorCode.Contended });
      expect(await hold.release()).toBe(true);
    });

    test('after a transaction that has failed there is neither', async () => {
      const { given, inner } = make();
      const locks = await engine(mode, given);
      const forgotten = await forgetCommits(inner, SIZE);
      for (const client of forgotten) await expect(client.query('SELECT 1 / 0')).rejects.toThrow('division');
      await expect(locks.acquire(newKey(), { wait: 0 })).rejects.toMatchObject({
        code: LockErrorCode.Unavailable,
        message: expect.stringContaining('within a transaction'),
      });
      for (const client of forgotten) await client.query('ROLLBACK');
      await (await locks.acquire(newKey())).release();
    });
  });

  test('a client within a transaction is passed over for one that is not', async () => {
    const shared = pool({ max: 6 });
    const [locks, others] = [await engine(mode, same(shared).given), await engine(mode)];
    const key = newKey();
    const forgotten = await forgetCommits(shared, 2);
    const hold = await locks.acquire(key, { wait: 0 });
    for (const client of forgotten) await client.query('ROLLBACK');
    await expect(others.acquire(key, { wait: 0 })).rejects.toMatchObject({ code: LockErrorCode.Contended });
    expect(await hold.release()).toBe(true);
  });

  test.each(['ROLLBACK', 'BEGIN'])('what a client was sent and nobody waited for counts: %s', async (last) => {
    const shared = pool();
    const locks = await engine(mode, same(shared).given);
    const taken = await Promise.all(Array.from({ length: SIZE }, () => shared.connect()));
    for (const client of taken) {
      if (last === 'ROLLBACK') await client.query('BEGIN');
      void client.query('SELECT pg_sleep(0.05)');
      void client.query(last);
      client.release();
    }
    const acquired = locks.acquire(newKey(), { wait: 0 }).then(
      (hold) => hold.release(),
      (error: unknown) => error,
    );
    if (last === 'ROLLBACK') expect(await acquired).toBe(true);
    else expect(await acquired).toMatchObject({ message: expect.stringContaining('within a transaction') });
    for (const client of taken) await client.query('ROLLBACK');
  });
});

for (const [, mode] of chosenVariants(MODES).filter(([name]) => name !== 'table')) {
  test(`${mode}: a process that is stopped keeps its lock for a bounded time, and learns of it when it goes on`, async () => {
    const fleet = new Fleet();
    cleanUps.push(() => fleet.end());
    const locks = await engine(mode);
    const member = await fleet.start({ url, mode, keepAlive: 300, silence: 2_000 });
    const key = newKey();
    const token = BigInt(await member.hold(key, 60_000));
    // Its signs of life keep the session.
    await sleep(3_000);
    expect(await member.holds()).toBe(true);
    member.process.kill('SIGSTOP');
    cleanUps.push(() => member.process.kill('SIGCONT'));
    const next = await locks.acquire(key, { wait: 30_000 });
    expect(next.fencingToken).toBeGreaterThan(token);
    member.process.kill('SIGCONT');
    await until(async () => !(await member.holds()));
    expect(await next.release()).toBe(true);
  }, 60_000);
}

test('a session has limits for its silence only, and what it had before when it goes back', async () => {
  const client = new pg.Client({ connectionString: url, statement_timeout: 4_321 });
  await client.connect();
  cleanUps.push(() => client.end());
  const ask = async (text: string, values: readonly unknown[] = []) => {
    const { rows, rowCount } = await client.query(text, [...values]);
    return { rows, changes: rowCount ?? 0 };
  };
  const names = [
    'statement_timeout',
    'lock_timeout',
    'idle_in_transaction_session_timeout',
    'idle_session_timeout',
    'tcp_keepalives_idle',
    'tcp_keepalives_interval',
    'tcp_keepalives_count',
    'tcp_user_timeout',
  ];
  const settings = async () => {
    const { rows } = await client.query('SELECT name, setting FROM pg_settings WHERE name = ANY ($1)', [names]);
    return Object.fromEntries(rows.map(({ name, setting }) => [name, setting]));
  };
  const before = await settings();
  expect(before).toMatchObject({ statement_timeout: '4321' });
  const id = await setLimits(ask, 60_000);
  expect(await settings()).toEqual({
    statement_timeout: '0',
    lock_timeout: '0',
    idle_in_transaction_session_timeout: '60000',
    idle_session_timeout: '60000',
    tcp_keepalives_idle: '30',
    tcp_keepalives_interval: '10',
    tcp_keepalives_count: '3',
    tcp_user_timeout: '60000',
  });
  await restoreSettings(ask, id);
  expect(await settings()).toEqual(before);
});
