import { afterAll, afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import Database from 'better-sqlite3';
import type { Hold } from '../../lib/engine/hold.js';
import { LockErrorCode } from '../../lib/errors/index.js';
import { fencedCommand, sqlFence, type FenceClient } from '../../lib/fencing/index.js';
import { clientFamily } from '../support/redis-clients.js';
import { ask } from '../support/redis-sentinel-ask.js';
import { SentinelBench } from '../support/redis-sentinel-bench.js';
import { RedisSentinel } from '../support/redis-sentinel.js';
import { RedisServer } from '../support/redis-server.js';

// Longer than any failover here takes: whoever holds still believes so after it.
const TTL = 60_000;
const WAIT = 20_000;

const set = await RedisSentinel.start();
const resource = await RedisServer.start();
const bench = new SentinelBench(set);
let keys = 0;
let key: string;

beforeEach(async () => {
  key = `stock:${(keys += 1)}`;
  await set.heal();
}, 60_000);
afterEach(() => bench.end());
afterAll(async () => {
  await resource.stop();
  await set.stop();
});

/** Two holders of one key: the master has told the first that it holds, and died before any replica knew. */
async function heldTwice(family: string): Promise<{ stale: Hold; holder: Hold }> {
  const [a, b] = [await bench.start(family), await bench.start(family)];
  // Taken and given back while all is well, so that the replicas know an earlier token.
  await (await a.acquire(key)).release();
  await set.waitForReplicas(2);
  set.lag(Infinity);
  const stale = await a.acquire(key, { ttl: TTL, renew: false });
  const old = await set.killMaster();
  set.lag(0);
  await set.promoted(old);
  const holder = await b.acquire(key, { ttl: TTL, wait: WAIT });
  return { stale, holder };
}

describe.each(['ioredis6', 'redis6'])('%s: a failover to a replica that has not heard of a lock', (family) => {
  it('grants it twice, and the second token is the larger', async () => {
    const { stale, holder } = await heldTwice(family);
    expect(stale.held).toBe(true);
    expect(holder.held).toBe(true);
    expect(holder.fencingToken).toBeGreaterThan(stale.fencingToken);
    // Not the first holder's any more: it learns of it here, and takes nothing from its successor.
    expect(await stale.release()).toBe(false);
    expect(holder.held).toBe(true);
    expect(await holder.release()).toBe(true);
  }, 60_000);

  it('tells the first holder at its next renewal', async () => {
    const { stale, holder } = await heldTwice(family);
    await expect(stale.extend(TTL)).rejects.toMatchObject({ code: LockErrorCode.Lost });
    expect(stale.held).toBe(false);
    expect(holder.held).toBe(true);
    expect(await holder.release()).toBe(true);
  }, 60_000);

  it('lets nobody but the second write where the resource compares tokens: a row', async () => {
    const database = new Database(':memory:');
    database.exec('CREATE TABLE stock (id INTEGER PRIMARY KEY, owner TEXT, fence BIGINT)');
    database.exec("INSERT INTO stock (id, owner) VALUES (1, 'nobody')");
    const write = (owner: string, hold: Hold): void => {
      const fence = sqlFence('sqlite', hold);
      const sql = `UPDATE stock SET owner = ?, ${fence.set()} WHERE id = 1 AND ${fence.where()}`;
      fence.check(database.prepare(sql).run(owner, fence.value, fence.value).changes);
    };
    const { stale, holder } = await heldTwice(family);
    write('the second', holder);
    expect(stale.held).toBe(true);
    expect(() => write('the first', stale)).toThrow(expect.objectContaining({ code: LockErrorCode.Fenced }));
    expect(database.prepare('SELECT owner FROM stock').get()).toEqual({ owner: 'the second' });
    await holder.release();
  }, 60_000);

  it('lets nobody but the second write where the resource compares tokens: a key of another Redis', async () => {
    const user = await clientFamily('ioredis6').connect({ url: resource.url });
    try {
      const write = (value: string, hold: Hold): Promise<unknown> =>
        fencedCommand(user.client as FenceClient, hold, ['SET', key, value]);
      const { stale, holder } = await heldTwice(family);
      // What the first does before the second has written cannot be told from what it did in time.
      await write('the first', stale);
      await write('the second', holder);
      await expect(write('the first again', stale)).rejects.toMatchObject({ code: LockErrorCode.Fenced });
      expect(await user.send('GET', key)).toBe('the second');
      await holder.release();
    } finally {
      user.close();
    }
  }, 60_000);

  it('is kept from happening by waitReplicas: the first is refused, and nobody holds it twice', async () => {
    const waitReplicas = { count: 1, timeout: '200ms' };
    const [a, b] = [await bench.start(family, { waitReplicas }), await bench.start(family, { waitReplicas })];
    await (await a.acquire(key)).release();
    await set.waitForReplicas(2);
    set.lag(Infinity);
    const started = performance.now();
    await expect(a.acquire(key, { ttl: TTL, wait: 0 })).rejects.toMatchObject({
      code: LockErrorCode.Unavailable,
      cause: { retryable: true, message: expect.stringContaining('waitReplicas') },
    });
    expect(performance.now() - started).toBeLessThan(5_000);
    const old = await set.killMaster();
    set.lag(0);
    await set.promoted(old);
    // Alone on the new master with its last replica.
    const holder = await b.acquire(key, { ttl: TTL, wait: WAIT });
    await expect(a.acquire(key, { wait: 500 })).rejects.toMatchObject({ code: LockErrorCode.Contended });
    expect(holder.held).toBe(true);
    expect(await holder.release()).toBe(true);
  }, 60_000);

  it('does not happen to a lock that waitReplicas has let through', async () => {
    const waitReplicas = { count: 2, timeout: '5s' };
    const [a, b] = [await bench.start(family, { waitReplicas }), await bench.start(family)];
    set.lag(50);
    const started = performance.now();
    const hold = await a.acquire(key, { ttl: TTL, renew: false });
    expect(performance.now() - started).toBeGreaterThan(45);
    const old = await set.killMaster();
    set.lag(0);
    await set.promoted(old);
    await expect(b.acquire(key, { wait: 5_000 })).rejects.toMatchObject({ code: LockErrorCode.Contended });
    expect(hold.held).toBe(true);
  }, 60_000);
});

/** Sentinels wait for four times this before they turn a master that they have replaced into a replica: 2 s unless told otherwise. */
async function tellOthersEvery(ms: number): Promise<void> {
  for (const { port } of set.sentinels) await ask(port, 'SENTINEL', 'DEBUG', 'PUBLISH-PERIOD', String(ms));
}

describe('a master that is replaced while it lives, and does not know of it for seconds', () => {
  beforeEach(() => tellOthersEvery(2_000));
  afterEach(() => tellOthersEvery(250));

  it('goes on granting locks to who is connected to it: they are held twice', async () => {
    const a = await bench.start('ioredis6');
    const promoted = await set.failover();
    const b = await bench.start('ioredis6');
    const stale = await a.acquire(key, { ttl: TTL, wait: 0 });
    expect(await bench.valueOn(promoted, key)).toBe('null');
    const holder = await b.acquire(key, { ttl: TTL, wait: 0 });
    expect(stale.held).toBe(true);
    expect(holder.held).toBe(true);
    // It is a token of this moment on either side: the resource accepts whoever has the larger one, and then nobody else.
    expect(holder.fencingToken).toBeGreaterThan(stale.fencingToken);
    await holder.release();
  }, 60_000);

  it('is left at once by an ioredis with failoverDetector', async () => {
    const a = await bench.start('ioredis6', {}, { options: { failoverDetector: true } });
    const promoted = await set.failover();
    const b = await bench.start('ioredis6');
    const hold = await a.acquire(key, { ttl: TTL, wait: WAIT });
    expect(await bench.valueOn(promoted, key)).toContain(':');
    await expect(b.acquire(key, { wait: 0 })).rejects.toMatchObject({ code: LockErrorCode.Contended });
    expect(await hold.release()).toBe(true);
  }, 60_000);

  it('has no replicas left to confirm a lock: waitReplicas refuses it', async () => {
    const a = await bench.start('ioredis6', { waitReplicas: { count: 1, timeout: '200ms' } });
    await set.failover();
    await expect(a.acquire(key, { ttl: TTL, wait: 0 })).rejects.toMatchObject({
      code: LockErrorCode.Unavailable,
      cause: { retryable: true, message: expect.stringContaining('waitReplicas') },
    });
    const b = await bench.start('ioredis6');
    expect(await (await b.acquire(key, { wait: 1_000 })).release()).toBe(true);
  }, 60_000);
});
