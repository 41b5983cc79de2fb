import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { Redis } from 'ioredis';
import type { LockStore, StoreHold } from '../../../lib/contract/index.js';
import { redisStore, type RedisStoreOptions } from '../../../lib/stores/redis/index.js';
import { newOwner, request, take, until } from '../../support/redis-requests.js';
import { sharedRedis } from '../../support/redis-server.js';

const server = await sharedRedis();
let redis: Redis;
const stores: LockStore[] = [];
let count = 0;
let key: string;
let prefix: string;

beforeAll(() => {
  redis = new Redis(server.url);
});
afterAll(async () => {
  redis.disconnect();
  await server.stop();
});
afterEach(async () => {
  await Promise.all(stores.splice(0).map((store) => store.close()));
});

/** Stores stand for processes: each has its own channel. */
async function open(options: Partial<RedisStoreOptions> = {}): Promise<LockStore> {
  const store = redisStore({ url: server.url, prefix, pollInterval: '30s', ...options });
  stores.push(store);
  await store.open();
  return store;
}

function fresh(): void {
  key = `key-${(count += 1)}`;
  prefix = `test-${process.pid}-${count}`;
}

/** A waiting acquisition that stands in the queue when this resolves. */
async function queue(store: LockStore, changes: Parameters<typeof request>[1] = {}) {
  const asked = request(key, { wait: true, ...changes });
  const before = await redis.llen(`{${prefix}:${key}}:queue`);
  const settled: { hold?: StoreHold; at?: number; error?: unknown } = {};
  const done = store.acquire(asked).then(
    (result) => {
      settled.at = performance.now();
      if (result.acquired) settled.hold = result.hold;
    },
    (error: unknown) => {
      settled.error = error;
    },
  );
  await until(async () => (await redis.llen(`{${prefix}:${key}}:queue`)) > before);
  return { asked, settled, done };
}

describe('names in Redis', () => {
  it('keeps a data key of another kind at the bare name apart', async () => {
    fresh();
    const store = await open();
    await redis.hset(key, 'field', 'value');
    const hold = await take(store, key);
    expect(await hold.release()).toBe(true);
    expect(await redis.hget(key, 'field')).toBe('value');
    await redis.del(key);
  });

  it('leaves nothing but one counter behind, however many keys there were', async () => {
    fresh();
    const store = await open();
    for (let each = 0; each < 200; each += 1) await (await take(store, `${key}-${each}`)).release();
    expect(await redis.keys(`*${prefix}*`)).toEqual([`{${prefix}}:fence`]);
    expect(await redis.ttl(`{${prefix}}:fence`)).toBe(-1);
  });

  it.each([
    ['braces', 'a}b'],
    ['a hash tag', '{a}'],
    ['what looks like a queue', 'a}:queue'],
    ['one brace', '}'],
    ['a colon', ':'],
    ['characters outside of ASCII', 'ü\u{1F512}'],
    ['a space', ' '],
    ['5,000 characters', 'A'.repeat(5_000)],
    ['a line break', 'a\nb'],
  ])('holds a key with %s', async (_, odd) => {
    fresh();
    const store = await open();
    const hold = await take(store, odd);
    expect((await store.acquire(request(odd))).acquired).toBe(false);
    expect((await store.acquire(request(`${odd}x`))).acquired).toBe(true);
    expect(await hold.release()).toBe(true);
  });

  it('says so when something else stands at the lock’s own name', async () => {
    fresh();
    const store = await open();
    await redis.rpush(`{${prefix}:${key}}`, 'x');
    await expect(store.acquire(request(key))).rejects.toMatchObject({
      code: 'LOCK_UNAVAILABLE',
      retryable: false,
      message: expect.stringContaining('WRONGTYPE'),
    });
  });
});

describe('fencing tokens', () => {
  it('increase over all keys, and are about the time in µs', async () => {
    fresh();
    const store = await open();
    let last = BigInt(Date.now() - 60_000) * 1_000n;
    for (let each = 0; each < 50; each += 1) {
      const hold = await take(store, `${key}-${each % 3}`);
      expect(hold.fence! > last).toBe(true);
      last = hold.fence!;
      await hold.release();
    }
    expect(last < BigInt(Date.now() + 60_000) * 1_000n).toBe(true);
  });

  it('go on increasing when the server’s clock has been set back', async () => {
    fresh();
    const store = await open();
    const future = BigInt(Date.now() + 3_600_000) * 1_000n;
    await redis.set(`{${prefix}}:fence`, String(future));
    const first = await take(store, key);
    expect(first.fence).toBe(future + 1n);
    expect((await take(store, `${key}-2`)).fence).toBe(future + 2n);
    expect((await store.inspect(key))?.age).toBe(0);
  });

  it('do not fall back to 1 when the counter is lost', async () => {
    fresh();
    const store = await open();
    const first = await take(store, key);
    await first.release();
    await redis.del(`{${prefix}}:fence`);
    expect((await take(store, key)).fence! > first.fence!).toBe(true);
  });
});

describe('the hand-off', () => {
  it('goes to the waiting processes in the order in which they came, by push', async () => {
    fresh();
    const all = await Promise.all([open(), open(), open()]);
    const held = await take(all[0], key);
    const waiters = [];
    for (const store of [all[1], all[2], all[0], all[2]]) waiters.push(await queue(store));
    const order: number[] = [];
    let current = held;
    for (const [index, waiter] of waiters.entries()) {
      const released = performance.now();
      expect(await current.release()).toBe(true);
      await waiter.done;
      expect(waiter.settled.at! - released).toBeLessThan(500);
      expect(waiters.filter((each) => each.settled.hold)).toHaveLength(index + 1);
      expect(waiter.settled.hold!.fence! > current.fence!).toBe(true);
      order.push(index);
      current = waiter.settled.hold!;
    }
    expect(order).toEqual([0, 1, 2, 3]);
    expect(await current.release()).toBe(true);
    expect(await all[0].inspect(key)).toBeUndefined();
  });

  it('tells the waiter who holds it', async () => {
    fresh();
    const store = await open();
    const hold = await take(store, key, { label: 'a:b:c 1' });
    const waiter = await queue(store);
    await until(() => waiter.asked.statuses.length > 0);
    expect(waiter.asked.statuses[0]).toMatchObject({
      kind: 'contended',
      holder: { label: 'a:b:c 1', remaining: expect.any(Number) },
    });
    await hold.release();
    await waiter.done;
  });

  it('is not overtaken by a newcomer, with or without wait', async () => {
    fresh();
    const [a, b] = await Promise.all([open(), open()]);
    const hold = await take(a, key, { ttl: 150 });
    // Its process is alive, but hears and polls nothing before long.
    const waiter = await queue(b, { ttl: 10_000 });
    // The lease runs out and nobody has looked yet.
    await redis.del(`{${prefix}:${key}}`);
    const newcomer = await a.acquire(request(key));
    expect(newcomer.acquired).toBe(false);
    await waiter.done;
    expect(waiter.settled.hold).toBeDefined();
    expect(await hold.release()).toBe(false);
  });

  it('passes over a waiting process that has died', async () => {
    fresh();
    const [a, dead, alive] = await Promise.all([open(), open(), open()]);
    const hold = await take(a, key);
    const lost = await queue(dead);
    const waiter = await queue(alive);
    await dead.close();
    await lost.done;
    expect(lost.settled.error).toMatchObject({ code: 'LOCK_UNAVAILABLE', retryable: false });
    // Its entry is still there: nobody was left to take it away.
    expect(await redis.llen(`{${prefix}:${key}}:queue`)).toBe(2);
    const released = performance.now();
    await hold.release();
    await waiter.done;
    expect(waiter.settled.at! - released).toBeLessThan(500);
    expect(await waiter.settled.hold!.release()).toBe(true);
  });

  it('moves on when a reservation is not answered: it runs out, and the next poll advances the queue', async () => {
    fresh();
    const [a, b] = await Promise.all([open(), open({ pollInterval: '100ms' })]);
    // A process that is stopped: it listens, but does not answer.
    const stopped = newOwner();
    const subscriber = new Redis(server.url);
    const channel = newOwner();
    await subscriber.subscribe(`${prefix}:wake:${channel}`);
    const claimTtl = '200ms';
    const releasing = await open({ claimTtl });
    const hold = await take(releasing, key);
    await redis.rpush(`{${prefix}:${key}}:queue`, `${stopped}:${channel}`);
    const waiter = await queue(b);
    const released = performance.now();
    await hold.release();
    expect((await a.inspect(key))?.owner).toBe(stopped);
    await waiter.done;
    expect(waiter.settled.at! - released).toBeGreaterThanOrEqual(190);
    expect(waiter.settled.at! - released).toBeLessThan(1_000);
    subscriber.disconnect();
  });

  it('costs only the poll interval when its message is lost', async () => {
    fresh();
    const a = await open();
    const b = await open({ pollInterval: '300ms', claimTtl: '5s' });
    const hold = await take(a, key);
    const waiter = await queue(b);
    // What a releasing script does, without the message.
    await redis.set(`{${prefix}:${key}}`, `${waiter.asked.owner}:0:`, 'PX', 5_000);
    await redis.del(`{${prefix}:${key}}:queue`);
    const changed = performance.now();
    await waiter.done;
    expect(waiter.settled.hold).toBeDefined();
    expect(waiter.settled.at! - changed).toBeLessThan(600);
    expect(await hold.release()).toBe(false);
    expect(await redis.pttl(`{${prefix}:${key}}`)).toBeGreaterThan(9_000);
  });

  it('takes over from a holder that crashed, soon after its lease has run out', async () => {
    fresh();
    const [a, b] = await Promise.all([open(), open()]);
    const taken = performance.now();
    await take(a, key, { ttl: 300 });
    const waiter = await queue(b);
    await waiter.done;
    expect(waiter.settled.at! - taken).toBeGreaterThanOrEqual(300);
    expect(waiter.settled.at! - taken).toBeLessThan(600);
  });

  it('gives a reservation back that nobody here waits for any more', async () => {
    fresh();
    const [a, b, c] = await Promise.all([open(), open(), open()]);
    const hold = await take(a, key);
    const first = await queue(b);
    const entry = (await redis.lrange(`{${prefix}:${key}}:queue`, 0, 0))[0]!;
    await b.abandon(key, first.asked.owner);
    // As if the abandonment had been lost, for an owner that b never heard of.
    await redis.rpush(`{${prefix}:${key}}:queue`, newOwner() + entry.slice(32));
    const waiter = await queue(c);
    const released = performance.now();
    await hold.release();
    await waiter.done;
    expect(waiter.settled.hold).toBeDefined();
    // Well below the second that a reservation lasts.
    expect(waiter.settled.at! - released).toBeLessThan(500);
  });

  it('never gives a lock back that its owner has confirmed, however late the message comes', async () => {
    fresh();
    const [a, b] = await Promise.all([open(), open()]);
    const hold = await take(a, key);
    const channels = (await redis.pubsub('CHANNELS', `${prefix}:wake:*`)) as string[];
    for (const channel of channels) await redis.publish(channel, `${hold.owner}:${key}`);
    await new Promise((resolve) => setTimeout(resolve, 100));
    expect((await b.inspect(key))?.owner).toBe(hold.owner);
  });

  it('keeps one place in the queue, however often it looks', async () => {
    fresh();
    const store = await open({ pollInterval: '20ms' });
    await take(store, key);
    const abort = new AbortController();
    const waiter = await queue(store, { signal: abort.signal });
    await until(() => waiter.asked.statuses.length > 5);
    expect(await redis.llen(`{${prefix}:${key}}:queue`)).toBe(1);
    abort.abort();
    await waiter.done;
  });

  it('does not shorten the life of a queue that a slower process waits in', async () => {
    fresh();
    const [slow, fast] = await Promise.all([open({ pollInterval: '30s' }), open({ pollInterval: '20ms' })]);
    await take(slow, key);
    const abort = new AbortController();
    const waiters = [await queue(slow, { signal: abort.signal }), await queue(fast, { signal: abort.signal })];
    await until(() => waiters[1]!.asked.statuses.length > 3);
    expect(await redis.pttl(`{${prefix}:${key}}:queue`)).toBeGreaterThan(100_000);
    abort.abort();
    await Promise.all(waiters.map(({ done }) => done));
  });

  it('forgets a queue that nobody looks at', async () => {
    fresh();
    const store = await open({ pollInterval: '20ms' });
    await take(store, key);
    const abort = new AbortController();
    const waiter = await queue(store, { signal: abort.signal });
    abort.abort();
    await waiter.done;
    await until(async () => (await redis.exists(`{${prefix}:${key}}:queue`)) === 0, 1_000);
  });
});

describe('one acquisition', () => {
  it('leaves no trace in the queue without wait', async () => {
    fresh();
    const store = await open();
    await take(store, key);
    await store.acquire(request(key));
    expect(await redis.exists(`{${prefix}:${key}}:queue`)).toBe(0);
  });

  it('finds an earlier win whose answer was lost: same token, full lease', async () => {
    fresh();
    const store = await open();
    const owner = newOwner();
    const first = await take(store, key, { owner, ttl: 1_000 });
    const again = await take(store, key, { owner, ttl: 20_000 });
    expect(again.fence).toBe(first.fence);
    expect(await redis.pttl(`{${prefix}:${key}}`)).toBeGreaterThan(19_000);
  });

  it('confirms a reservation with a new token and the full lease', async () => {
    fresh();
    const store = await open();
    const owner = newOwner();
    await redis.set(`{${prefix}:${key}}`, `${owner}:0:`, 'PX', 500);
    const seen = await store.inspect(key);
    expect([seen?.owner, seen?.fence, seen?.age]).toEqual([owner, undefined, undefined]);
    const hold = await take(store, key, { owner });
    expect(hold.fence! > 0n).toBe(true);
    expect(await redis.pttl(`{${prefix}:${key}}`)).toBeGreaterThan(9_000);
  });

  it('counts its validity from the start of the request that won', async () => {
    fresh();
    const store = await open();
    const start = performance.now();
    const hold = await take(store, key, { ttl: 1_000 });
    expect(hold.validUntil).toBeGreaterThanOrEqual(start + 1_000 - 12);
    expect(hold.validUntil).toBeLessThanOrEqual(performance.now() + 1_000 - 12);
  });

  it('ends soon when aborted, and abandoning it leaves nothing', async () => {
    fresh();
    const store = await open();
    const hold = await take(store, key);
    const abort = new AbortController();
    const waiter = await queue(store, { signal: abort.signal });
    const aborted = performance.now();
    abort.abort(new Error('enough'));
    await waiter.done;
    expect(performance.now() - aborted).toBeLessThan(100);
    await store.abandon(key, waiter.asked.owner);
    await store.abandon(key, waiter.asked.owner);
    expect(await redis.exists(`{${prefix}:${key}}:queue`)).toBe(0);
    expect(await hold.release()).toBe(true);
  });

  it('is freed by abandoning it', async () => {
    fresh();
    const store = await open();
    const { owner } = await take(store, key);
    await store.abandon(key, owner);
    expect(await store.inspect(key)).toBeUndefined();
  });
});

describe('ownership', () => {
  it('leaves the successor’s lock alone when a late release comes', async () => {
    fresh();
    const store = await open();
    const late = await take(store, key, { ttl: 50 });
    await until(async () => (await store.inspect(key)) === undefined);
    const successor = await take(store, key);
    expect(await late.release()).toBe(false);
    expect((await store.inspect(key))?.owner).toBe(successor.owner);
  });

  it('never creates a lock by renewing, and answers in order over several batches', async () => {
    fresh();
    const store = await open();
    const holds: StoreHold[] = [];
    for (let each = 0; each < 230; each += 1) holds.push(await take(store, `${key}-${each}`, { ttl: 5_000 }));
    await redis.del(`{${prefix}:${key}-7}`);
    await redis.set(`{${prefix}:${key}-150}`, `${newOwner()}:1:other`);
    const outcomes = await store.renew!(holds.map((hold) => ({ hold, ttl: 60_000 })));
    expect(outcomes.flatMap((outcome, index) => (outcome === 'renewed' ? [] : [[index, outcome]]))).toEqual([
      [7, 'lost'],
      [150, 'lost'],
    ]);
    expect(await redis.exists(`{${prefix}:${key}-7}`)).toBe(0);
    expect(await redis.pttl(`{${prefix}:${key}-229}`)).toBeGreaterThan(50_000);
    expect(holds[229]!.validUntil).toBeGreaterThan(performance.now() + 50_000);
    await redis.del(...holds.map((_, index) => `{${prefix}:${key}-${index}}`));
  });

  it('takes what a stranger wrote over the lock for a holder', async () => {
    fresh();
    const store = await open();
    const hold = await take(store, key);
    await redis.set(`{${prefix}:${key}}`, 'somebody');
    expect(await store.acquire(request(key))).toEqual({ acquired: false, holder: {} });
    expect(await store.renew!([{ hold, ttl: 1_000 }])).toEqual(['lost']);
    expect(await hold.release()).toBe(false);
    expect(await store.inspect(key)).toMatchObject({ owner: 'somebody' });
  });
});

describe('an administrator', () => {
  it('sees who holds a key, for how long, and how many wait', async () => {
    fresh();
    const store = await open();
    const hold = await take(store, key, { label: 'web-1:42' });
    const waiter = await queue(store);
    const seen = await store.inspect(key);
    expect(seen).toMatchObject({ owner: hold.owner, label: 'web-1:42', fence: hold.fence, waiters: 1 });
    expect(seen!.remaining).toBeGreaterThan(9_000);
    expect(seen!.age).toBeLessThan(1_000);
    await hold.release();
    await waiter.done;
  });

  it('takes a key from its holder, and the next in the queue gets it', async () => {
    fresh();
    const [a, b] = await Promise.all([open(), open()]);
    const hold = await take(a, key);
    const waiter = await queue(b);
    expect(await a.forceRelease(key)).toBe(true);
    await waiter.done;
    expect(waiter.settled.hold).toBeDefined();
    expect(await hold.release()).toBe(false);
    expect(await a.forceRelease(key)).toBe(true);
    expect(await a.forceRelease(key)).toBe(false);
  });
});

describe('the store', () => {
  it('runs on when the server forgets its scripts', async () => {
    fresh();
    const store = await open();
    const hold = await take(store, key);
    await redis.script('FLUSH');
    const waiter = await queue(store);
    await redis.script('FLUSH');
    expect(await store.renew!([{ hold, ttl: 1_000 }])).toEqual(['renewed']);
    await redis.script('FLUSH');
    expect(await hold.release()).toBe(true);
    await redis.script('FLUSH');
    await waiter.done;
    expect(await store.inspect(key)).toBeDefined();
    await redis.script('FLUSH');
    expect(await store.forceRelease(key)).toBe(true);
  });

  it('opens and closes once, and refuses work before and after', async () => {
    fresh();
    const store = redisStore({ url: server.url, prefix });
    await expect(store.acquire(request(key))).rejects.toMatchObject({ code: 'LOCK_UNAVAILABLE' });
    await Promise.all([store.open(), store.open()]);
    await store.open();
    await Promise.all([store.close(), store.close()]);
    await store.close();
    await expect(store.acquire(request(key))).rejects.toMatchObject({ code: 'LOCK_UNAVAILABLE', retryable: false });
    await expect(store.open()).rejects.toMatchObject({ code: 'LOCK_UNAVAILABLE' });
    await until(async () => ((await redis.pubsub('CHANNELS', `${prefix}:wake:*`)) as string[]).length === 0);
  });

  it('holds many keys for many owners at once without a warning', async () => {
    fresh();
    const warnings: unknown[] = [];
    const listen = (warning: unknown) => warnings.push(warning);
    process.on('warning', listen);
    const stores = await Promise.all([open(), open(), open()]);
    let inside = 0;
    let overlap = 0;
    const fences: bigint[] = [];
    const work = async (store: LockStore) => {
      for (let round = 0; round < 15; round += 1) {
        const hold = await take(store, key, { wait: true });
        inside += 1;
        overlap = Math.max(overlap, inside);
        fences.push(hold.fence!);
        await new Promise((resolve) => setImmediate(resolve));
        inside -= 1;
        expect(await hold.release()).toBe(true);
      }
    };
    await Promise.all(stores.flatMap((store) => Array.from({ length: 20 }, () => work(store))));
    process.off('warning', listen);
    expect(overlap).toBe(1);
    expect(fences).toEqual([...fences].sort((a, b) => (a < b ? -1 : 1)));
    expect(warnings).toEqual([]);
    expect(await redis.keys(`*${prefix}*`)).toEqual([`{${prefix}}:fence`]);
  });
});
