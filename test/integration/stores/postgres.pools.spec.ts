import { once } from 'node:events';
import { connect, createServer, type AddressInfo } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, afterEach, expect, test } from '@jest/globals';
import pg from 'pg';
import { postgresStore, type PostgresStoreOptions } from '../../../lib/stores/postgres/index.js';
import { PostgresServer } from '../../support/postgres-server.js';
import { until } from '../../support/redis-requests.js';
import { TestEngine } from '../../support/test-engine.js';

const server = await PostgresServer.start();
afterAll(() => server.stop());

const cleanUps: (() => unknown)[] = [];
afterEach(async () => {
  for (const cleanUp of cleanUps.splice(0).reverse()) await cleanUp();
});

async function engine(options: Partial<PostgresStoreOptions> = {}): Promise<TestEngine> {
  const source = options.pool ? {} : { connection: server.url };
  const made = new TestEngine(postgresStore({ ...source, ...options }));
  cleanUps.push(() => made.close());
  await made.engine.open();
  return made;
}

/** A pool, and how often its sessions were told to listen. */
function listenedPool(): { readonly pool: pg.Pool; listens: () => number } {
  const pool = new pg.Pool({ connectionString: server.url, max: 5 });
  let listens = 0;
  pool.on('connect', (client) => {
    const query = client.query.bind(client) as (config: { text: string }) => Promise<never>;
    client.query = ((config: { text: string }) => {
      if (config.text.startsWith('LISTEN')) listens += 1;
      return query(config);
    }) as typeof client.query;
  });
  return { pool, listens: () => listens };
}

/** Waits for a key that another process gives back after 50 ms. */
async function wait(locks: TestEngine, other: TestEngine, key: string): Promise<void> {
  const held = await other.acquire(key);
  const waiting = locks.acquire(key);
  await sleep(50);
  await held.release();
  await (await waiting).release();
}

test('the application may end its pool although somebody has waited: nothing of it is kept for good', async () => {
  const { pool } = listenedPool();
  const [locks, other] = [await engine({ pool }), await engine()];
  await wait(locks, other, 'ended');
  const start = performance.now();
  expect(await Promise.race([pool.end().then(() => 'ended'), sleep(8_000, 'still not')])).toBe('ended');
  expect(performance.now() - start).toBeLessThan(5_000);
}, 20_000);

test('who waits again and again listens once; after a while it is over, and the next wait listens again', async () => {
  const { pool, listens } = listenedPool();
  cleanUps.push(() => pool.end());
  const [locks, other] = [await engine({ pool }), await engine()];
  const end = performance.now() + 5_000;
  while (performance.now() < end) {
    await wait(locks, other, 'again');
    await sleep(500);
  }
  // One wait that lasts does not stop hearing either.
  const held = await other.acquire('again');
  const waiting = locks.acquire('again', { wait: 20_000 });
  await sleep(5_000);
  await held.release();
  await (await waiting).release();
  expect(listens()).toBe(1);
  await until(() => pool.idleCount === pool.totalCount);
  const clients = await Promise.all(Array.from({ length: pool.totalCount }, () => pool.connect()));
  for (const client of clients) {
    expect((await client.query({ text: 'SELECT pg_listening_channels()' })).rows).toEqual([]);
    client.release();
  }
  await wait(locks, other, 'again');
  expect(listens()).toBe(2);
}, 30_000);

/** What PostgreSQL says when it is ready for the first time, and what it says when an administrator ends the session. */
const READY = Buffer.from([0x5a, 0, 0, 0, 5, 0x49]);
const FIELDS = 'SFATAL\0C57P01\0Mterminating connection due to administrator command\0\0';
const FATAL = Buffer.concat([Buffer.from([0x45, 0, 0, 0, 4 + FIELDS.length]), Buffer.from(FIELDS)]);

/** Every second session ends as soon as it is there, and says so in the very packet in which it was ready. */
async function endingProxy(): Promise<{ readonly url: string; ended: () => number }> {
  let [sessions, ended] = [0, 0];
  const proxy = createServer((near) => {
    const far = connect(Number(new URL(server.url).port), '127.0.0.1');
    let ends = (sessions += 1) % 2 === 1;
    near.on('error', () => far.destroy()).on('close', () => far.destroy());
    far.on('error', () => near.destroy()).on('close', () => near.end());
    near.pipe(far);
    far.on('data', (data) => {
      if (!ends || !data.includes(READY)) {
        near.write(data);
        return;
      }
      ends = false;
      ended += 1;
      near.end(Buffer.concat([data, FATAL]));
    });
  });
  proxy.listen(0, '127.0.0.1');
  await once(proxy, 'listening');
  cleanUps.push(() => proxy.close());
  const url = new URL(server.url);
  url.port = String((proxy.address() as AddressInfo).port);
  return { url: url.href, ended: () => ended };
}

test.each(['table', 'row', 'advisory'] as const)(
  '%s: a session that the server ends in the moment it is there is the end of no process',
  async (mode) => {
    const { url, ended } = await endingProxy();
    // An error that nobody hears fails the test.
    const locks = await engine({ mode, connection: url });
    const [held, key] = [`doomed:${mode}`, `doomed:too:${mode}`];
    const hold = await locks.acquire(held, { wait: 0 });
    const waiting = locks.acquire(held);
    await (await locks.acquire(key, { wait: 0 })).release();
    expect(await hold.release()).toBe(true);
    expect(await (await waiting).release()).toBe(true);
    expect(ended()).toBeGreaterThan(1);
  },
);
