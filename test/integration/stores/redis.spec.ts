import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, describe, expect, test } from '@jest/globals';
import type { LockStore } from '../../../lib/contract/index.js';
import { redisStore } from '../../../lib/stores/redis/index.js';
import { storeConformance } from '../../../lib/testing/index.js';
import { RedisBackend } from '../../support/redis-backend.js';
import { clientFamily, type TestClient } from '../../support/redis-clients.js';
import { take } from '../../support/redis-requests.js';
import { chosenVariants } from '../../support/variants.js';

interface Variant {
  readonly family: string;
  readonly keyPrefix?: string;
}

const variants: Record<string, Variant> = {
  ioredis: { family: 'ioredis6' },
  // A prefix of the client's own, below which each lock must still be one key throughout.
  ioredis5: { family: 'ioredis5', keyPrefix: 'app:' },
  iovalkey: { family: 'iovalkey' },
  redis: { family: 'redis6' },
  redis5: { family: 'redis5' },
};

// Before the server is started: a wrong name must leave nothing running.
const chosen = chosenVariants(variants);
const backend = await RedisBackend.start();
afterAll(() => backend.stop());

describe.each(chosen)('%s', (name, { family, keyPrefix }) => {
  const clients: TestClient[] = [];
  afterAll(() => clients.forEach((client) => client.close()));

  async function createStore(): Promise<LockStore> {
    const settings = { url: backend.url, ...(keyPrefix === undefined ? {} : { keyPrefix }) };
    const connected = await clientFamily(family).connect(settings);
    clients.push(connected);
    return redisStore({
      client: connected.client,
      prefix: `conformance-${name}`,
      commandTimeout: '500ms',
      claimTtl: '500ms',
    });
  }

  storeConformance('redis', {
    createStore,
    guarantees: {
      ownership: true,
      fencing: 'global',
      survivesFailover: false,
      fifo: true,
      reach: 'network',
      expiry: 'lease',
      wakeUp: 'push',
    },
    hooks: backend.hooks(),
  });
});

test('a lease counts from when it was asked for, however late the answer comes', async () => {
  const store = redisStore({ url: backend.url, commandTimeout: '5s' });
  const ttl = 10_000;
  const slowly = async <T>(ask: () => Promise<T>): Promise<{ asked: number; answer: T }> => {
    const resume = await (backend.hooks().pauseServer as () => Promise<() => void>)();
    const asked = performance.now();
    const answer = ask();
    await sleep(400);
    resume();
    return { asked, answer: await answer };
  };
  try {
    await store.open();
    const won = await slowly(() => take(store, 'slow', { ttl }));
    expect(won.answer.validUntil).toBeLessThan(won.asked + ttl);
    const renewed = await slowly(() => store.renew!([{ hold: won.answer, ttl }]));
    expect(renewed.answer).toEqual(['renewed']);
    expect(won.answer.validUntil).toBeLessThan(renewed.asked + ttl);
    expect(won.answer.validUntil).toBeGreaterThan(renewed.asked + ttl / 2);
  } finally {
    await store.close();
  }
});

test('a key of the data that has the same name is neither hit nor in the way', async () => {
  const data = await clientFamily('ioredis6').connect({ url: backend.url });
  const store = redisStore({ url: backend.url });
  try {
    await data.send('SADD', 'order:1', 'line');
    await store.open();
    const hold = await take(store, 'order:1');
    expect(await hold.release()).toBe(true);
    expect(await data.send('SMEMBERS', 'order:1')).toEqual(['line']);
  } finally {
    await store.close();
    data.close();
  }
});
