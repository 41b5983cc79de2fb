import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { Redis } from 'ioredis';
import type { LockStore, StoreHold } from '../../../lib/contract/index.js';
import { redlockStore, type RedlockStoreOptions } from '../../../lib/stores/redlock/index.js';
import { newOwner, request, take } from '../../support/redis-requests.js';
import { RedlockBackend } from '../../support/redlock-backend.js';
import { packageRedlock, type PackageLock, type PackageOptions } from '../../support/redlock-package.js';

let backend: RedlockBackend;
let count = 0;
let key: string;
let direct: Redis[];
let proxied: Redis[];
const stores: LockStore[] = [];

beforeAll(async () => {
  backend = await RedlockBackend.start(3);
  direct = backend.directUrls.map((url) => new Redis(url));
  proxied = backend.urls.map((url) => new Redis(url, { maxRetriesPerRequest: null }));
  for (const client of proxied) client.on('error', () => undefined);
});
afterAll(async () => {
  for (const client of [...direct, ...proxied]) client.disconnect();
  await backend.stop();
});
beforeEach(() => {
  key = `order:${(count += 1)}`;
});
afterEach(async () => {
  for (const { proxy, server } of backend.nodes) {
    server.resume();
    proxy.heal();
  }
  await Promise.all(stores.splice(0).map((store) => store.close()));
});

async function openStore(options: Partial<RedlockStoreOptions> = {}): Promise<LockStore> {
  const store = redlockStore({ urls: backend.directUrls, prefix: '', pollInterval: '50ms', ...options });
  stores.push(store);
  await store.open();
  return store;
}

const openPackage = (options?: PackageOptions) => packageRedlock(direct, options);

async function valuesOf(name: string): Promise<(string | null)[]> {
  return Promise.all(direct.map((client) => client.get(name)));
}

async function failure(promise: Promise<unknown>): Promise<Error> {
  return promise.then(
    () => {
      throw new Error('it did not fail');
    },
    (error: unknown) => error as Error,
  );
}

describe('a fleet of which a part has the redlock package', () => {
  it('is excluded by our locks, also past their first lease, until they are given back', async () => {
    const store = await openStore();
    const redlock = openPackage();
    const hold = await take(store, key, { ttl: 300 });
    expect(await valuesOf(key)).toEqual([hold.owner, hold.owner, hold.owner]);
    for (let round = 0; round < 4; round += 1) {
      expect(await failure(redlock.lock(key, 1_000))).toMatchObject({ name: 'LockError' });
      expect(await store.renew!([{ hold, ttl: 300 }])).toEqual(['renewed']);
      await new Promise((resolve) => setTimeout(resolve, 100));
    }
    expect(await hold.release()).toBe(true);
    await (await redlock.lock(key, 1_000)).unlock();
    expect(await valuesOf(key)).toEqual([null, null, null]);
  });

  it('excludes us, also past its first lease, until it gives back', async () => {
    const store = await openStore();
    const lock = await openPackage().lock(key, 300);
    expect((await store.inspect(key))?.owner).toBe(lock.value);
    for (let round = 0; round < 4; round += 1) {
      const refused = await store.acquire(request(key));
      expect(refused).toMatchObject({ acquired: false, holder: { remaining: expect.any(Number) } });
      await lock.extend(300);
      await new Promise((resolve) => setTimeout(resolve, 100));
    }
    await lock.unlock();
    await take(store, key);
  });

  it('is waited for: its release by a poll, its crash until its lease has run out', async () => {
    const store = await openStore({ pollInterval: '100ms' });
    const lock = await openPackage().lock(key, 10_000);
    const waiting = take(store, key, { wait: true });
    await new Promise((resolve) => setTimeout(resolve, 50));
    await lock.unlock();
    const unlocked = performance.now();
    expect(await (await waiting).release()).toBe(true);
    expect(performance.now() - unlocked).toBeLessThan(500);

    const slow = await openStore({ pollInterval: '30s' });
    const taken = performance.now();
    await openPackage().lock(key, 400);
    await take(slow, key, { wait: true });
    expect(performance.now() - taken).toBeGreaterThanOrEqual(395);
    expect(performance.now() - taken).toBeLessThan(1_000);
  });

  it('shares locks below a prefix, too', async () => {
    const store = await openStore({ prefix: 'lock' });
    const hold = await take(store, key);
    expect(await failure(openPackage().lock(`lock:${key}`, 1_000))).toMatchObject({ name: 'LockError' });
    await hold.release();
    const lock = await openPackage().lock(`lock:${key}`, 1_000);
    expect((await store.acquire(request(key))).acquired).toBe(false);
    await lock.unlock();
  });

  it('never overlaps with us under contention, and both get their turns', async () => {
    let holders = 0;
    const inside = async (): Promise<void> => {
      expect((holders += 1)).toBe(1);
      await new Promise((resolve) => setTimeout(resolve, 1));
      holders -= 1;
    };
    const turns = { ours: 0, theirs: 0 };
    const ours = [await openStore({ pollInterval: '20ms' }), await openStore({ pollInterval: '20ms' })].map(
      async (store) => {
        for (; turns.ours < 40; turns.ours += 1) {
          const hold = await take(store, key, { wait: true });
          await inside();
          expect(await hold.release()).toBe(true);
          await new Promise((resolve) => setTimeout(resolve, 10));
        }
      },
    );
    const theirs = [1, 2].map(async () => {
      const redlock = openPackage({ retryCount: -1, retryDelay: 10 });
      for (; turns.theirs < 20; turns.theirs += 1) {
        const lock = await redlock.lock(key, 5_000);
        await inside();
        await lock.unlock();
        await new Promise((resolve) => setTimeout(resolve, 10));
      }
    });
    await Promise.all([...ours, ...theirs]);
    expect(turns.ours).toBeGreaterThanOrEqual(40);
    expect(turns.theirs).toBeGreaterThanOrEqual(20);
    expect(await valuesOf(key)).toEqual([null, null, null]);
  });
});

/**
 * What a store needs, asked of the package with node clients that answer within a bound, and of our quorum. The package
 * fails each of these; should a later one pass them, the quorum might be left to it.
 */
describe.each(['the package', 'our quorum'] as const)('%s', (name) => {
  const ours = name === 'our quorum';
  const law = ours ? it : it.failing;
  const bound = 150;

  /** A lock on the proxied nodes, whichever makes it. */
  async function hold(ttl: number): Promise<{ value: string; renew(): Promise<unknown> }> {
    if (!ours) {
      const redlock = packageRedlock(proxied, { bound });
      // So that every node knows its scripts.
      await (await (await redlock.lock(`${key}:first`, ttl)).extend(ttl)).unlock();
      const lock: PackageLock = await redlock.lock(key, ttl);
      return { value: lock.value, renew: () => lock.extend(ttl).catch(() => undefined) };
    }
    const store = await openStore({ urls: backend.urls, nodeTimeout: bound });
    const taken: StoreHold = await take(store, key, { ttl });
    return { value: taken.owner, renew: () => store.renew!([{ hold: taken, ttl }]) };
  }

  /** Asks for the key in the name of an owner. Connected already. */
  async function acquirer(): Promise<(owner?: string, ttl?: number) => Promise<unknown>> {
    if (ours) {
      const store = await openStore({ urls: backend.urls, nodeTimeout: bound });
      return (owner = newOwner(), ttl = 10_000) => take(store, key, { ttl, owner });
    }
    const redlock = packageRedlock(proxied, { bound });
    // The one place where a value could be its caller's.
    return (owner = newOwner(), ttl = 10_000) => Object.assign(redlock, { _random: () => owner }).lock(key, ttl);
  }

  law('leaves a lock alone that is still certain when a renewal gets too few answers', async () => {
    const { value, renew } = await hold(10_000);
    const [, second, third] = backend.nodes;
    await second!.server.pause();
    await third!.server.pause();
    await renew();
    second!.server.resume();
    third!.server.resume();
    await new Promise((resolve) => setTimeout(resolve, 2 * bound));
    // Its lease has most of its ten seconds left, and its holder counts on them.
    expect(await valuesOf(key)).toEqual([value, value, value]);
  });

  law('finds a win whose answer was lost when the same owner asks again', async () => {
    const acquire = await acquirer();
    const owner = newOwner();
    for (const client of direct) await client.set(key, owner, 'PX', 10_000);
    const asked = await acquire(owner).catch((error: unknown) => error);
    expect(asked).not.toBeInstanceOf(Error);
  });

  law('tells an outage from contention', async () => {
    const acquire = await acquirer();
    await hold(10_000);
    const contended = await failure(acquire());
    await backend.nodes[1]!.server.pause();
    await backend.nodes[2]!.server.pause();
    const outage = await failure(acquire());
    expect(outage.name).not.toBe(contended.name);
  });

  law('refuses a lock whose lease is over when the answers come, whatever the wall clock does meanwhile', async () => {
    const acquire = await acquirer();
    for (const { server } of backend.nodes) await server.pause();
    const ttl = 100;
    const acquiring = acquire(newOwner(), ttl).catch((error: unknown) => error);
    await new Promise((resolve) => setTimeout(resolve, ttl + 20));
    const wallClock = Date.now;
    Date.now = () => wallClock() - 5_000;
    try {
      for (const { server } of backend.nodes) server.resume();
      expect(await acquiring).toBeInstanceOf(Error);
    } finally {
      Date.now = wallClock;
    }
  });
});
