import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { redisStore, type RedisStoreOptions } from '../../../lib/stores/redis/index.js';
import { clientFamilies, type ClientFamily, type TestClient } from '../../support/redis-clients.js';
import { take } from '../../support/redis-requests.js';
import { RedisServer } from '../../support/redis-server.js';

const servers: RedisServer[] = [];
afterAll(() => Promise.all(servers.map((server) => server.stop())));

async function start(...args: string[]): Promise<RedisServer> {
  const server = await RedisServer.start({ args });
  servers.push(server);
  return server;
}

async function warningsOf(options: RedisStoreOptions): Promise<readonly string[]> {
  const store = redisStore(options);
  await store.open();
  const warnings = store.warnings ?? [];
  await store.close();
  return warnings;
}

describe('a server whose memory may run full', () => {
  test.each(['allkeys-lru', 'volatile-ttl'])('deletes locks by %s, which the store warns of', async (policy) => {
    const { url } = await start('--maxmemory', '100mb', '--maxmemory-policy', policy);
    expect(await warningsOf({ url })).toEqual([
      expect.stringMatching(new RegExp(`maxmemory-policy ${policy}, by which it deletes locks .* Set noeviction`)),
    ]);
  });

  test('may refuse to store more, or have no limit at all', async () => {
    const refusing = await start('--maxmemory', '100mb', '--maxmemory-policy', 'noeviction');
    expect(await warningsOf({ url: refusing.url })).toEqual([]);
    const boundless = await start('--maxmemory-policy', 'allkeys-lru');
    expect(await warningsOf({ url: boundless.url })).toEqual([]);
  });

  test('is not asked where its user may not ask', async () => {
    const { url } = await start('--maxmemory', '100mb', '--maxmemory-policy', 'allkeys-lru');
    const admin = await (clientFamilies[0] as ClientFamily).connect({ url });
    await admin.send('ACL', 'SETUSER', 'app', 'on', '>secret', '~*', '&*', '+@all', '-info');
    admin.close();
    const store = new URL(url);
    const client = clientFamilies.find(({ name }) => name === 'redis6') as ClientFamily;
    const connected = await client.connect({ url: store.href, username: 'app', password: 'secret' });
    expect(await warningsOf({ client: connected.client })).toEqual([]);
    connected.close();
  });
});

describe('a master with a replica', () => {
  let master: RedisServer;
  let replica: RedisServer;
  beforeAll(async () => {
    // Otherwise a master waits for 5 s before it sends its data.
    master = await start('--repl-diskless-sync-delay', '0');
    replica = await start('--replicaof', '127.0.0.1', String(master.port));
    const admin = await (clientFamilies[0] as ClientFamily).connect({ url: master.url });
    while (Number(await admin.send('WAIT', '1', '100')) < 1) await sleep(20);
    admin.close();
  });

  test('may forget a lock in a failover, which the store warns of unless something was said of it', async () => {
    const { url } = master;
    expect(await warningsOf({ url })).toEqual([
      expect.stringMatching(/has 1 replica, .* Set waitReplicas: \{ count: 1 \}/),
    ]);
    expect(await warningsOf({ url, waitReplicas: false })).toEqual([]);
    expect(await warningsOf({ url, waitReplicas: { count: 1, timeout: '2s' } })).toEqual([]);
  });

  describe.each(clientFamilies.map((family) => [family.name, family] as const))('%s', (_, family) => {
    let connected: TestClient;
    beforeAll(async () => (connected = await family.connect({ url: master.url })));
    afterAll(() => connected.close());
    const storeOf = (options: Partial<RedisStoreOptions> = {}) =>
      redisStore({ client: connected.client, waitReplicas: { count: 1, timeout: '1s' }, ...options });

    test('has locks confirmed by it, and renewals', async () => {
      const store = storeOf();
      await store.open();
      const hold = await take(store, `confirmed ${family.name}`);
      expect(await store.renew?.([{ hold, ttl: 10_000 }])).toEqual(['renewed']);
      expect(await hold.release()).toBe(true);
      await store.close();
      // It is the user's, and not closed with the store.
      expect(await connected.send('PING')).toBe('PONG');
    });

    test('grants nothing that the replica does not have, and does not hold the client up meanwhile', async () => {
      const store = storeOf();
      await store.open();
      const key = `unconfirmed ${family.name}`;
      const held = await take(store, `held ${family.name}`, { ttl: 60_000 });
      const until = held.validUntil;
      await replica.pause();
      try {
        const refused = expect(take(store, key)).rejects.toMatchObject({
          code: 'LOCK_UNAVAILABLE',
          message: expect.stringMatching(/0 of 1 replicas confirmed the lock within 1000 ms \(waitReplicas\)/),
          retryable: true,
        });
        await sleep(20);
        const start = performance.now();
        await connected.send('PING');
        expect(performance.now() - start).toBeLessThan(500);
        await refused;
        expect(await store.renew?.([{ hold: held, ttl: 60_000 }])).toEqual(['unknown']);
        expect(held.validUntil).toBe(until);
      } finally {
        replica.resume();
      }
      await store.close();
    });

    test('with fewer replicas than are asked for nothing starts', async () => {
      const store = storeOf({ waitReplicas: { count: 2, timeout: '1s' } });
      await expect(store.open()).rejects.toThrow(/1 of 2 replicas confirmed the lock within 1000 ms/);
      await store.close();
    });
  });
});
