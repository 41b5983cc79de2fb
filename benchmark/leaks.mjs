import { Redis } from 'ioredis';
import { memoryStore } from 'nestjs-distributed-lock/memory';
import { redisStore } from 'nestjs-distributed-lock/redis';
import { setTimeout } from 'node:timers/promises';
import { table } from '../scripts/support/table.mjs';
import { mb } from './support/format.mjs';
import { locksApp } from './support/locks-app.mjs';

export const title = 'What is left of many keys, each used once';

const ON_MEMORY = 1_000_000;
const ON_REDIS = 50_000;
const AT_ONCE = 100;
/** Two bytes a key on the memory store: what V8 keeps for itself varies by about as much. */
const ALLOWED = 2 * 2 ** 20;

export async function run({ redisUrl }) {
  const onMemory = await measure(memoryStore(), ON_MEMORY);
  const client = new Redis(redisUrl);
  const before = await client.dbsize();
  const onRedis = await measure(redisStore({ url: redisUrl, prefix: 'leaks' }), ON_REDIS);
  onRedis.redisKeys = { before, after: await client.dbsize() };
  await client.quit();
  return { memory: onMemory, redis: onRedis, problems: [...problemsOf({ memory: onMemory, redis: onRedis })] };
}

async function measure(store, count) {
  const { locks, close } = await locksApp(store);
  const use = async (from, to) => {
    for (let first = from; first < to; first += AT_ONCE) {
      await Promise.all(
        Array.from({ length: AT_ONCE }, (_, index) => locks.withLock(`leak:${first + index}`, async () => undefined)),
      );
    }
  };
  // Code, pools and inline caches are there before the first look.
  await use(0, 20_000);
  const before = await heapUsed();
  const start = performance.now();
  await use(20_000, 20_000 + count);
  const seconds = (performance.now() - start) / 1000;
  const after = await heapUsed();
  await close();
  return { locks: count, seconds, heap: { before, after } };
}

async function heapUsed() {
  for (let turn = 0; turn < 3; turn += 1) {
    await setTimeout(20);
    globalThis.gc();
  }
  return process.memoryUsage().heapUsed;
}

function* problemsOf(results) {
  for (const [name, { heap, redisKeys }] of Object.entries(results)) {
    if (heap.after - heap.before > ALLOWED) yield `${name}: the heap grew by ${mb(heap.after - heap.before)}`;
    // One key for all: the last fencing token.
    if (redisKeys !== undefined && redisKeys.after - redisKeys.before > 1) {
      yield `${name}: ${redisKeys.after - redisKeys.before} keys were left in Redis`;
    }
  }
}

export function print(result) {
  const rows = ['memory', 'redis'].map((name) => {
    const { locks, seconds, heap, redisKeys } = result[name];
    const keys = redisKeys === undefined ? ['–', '–'] : [redisKeys.before, redisKeys.after];
    return [name, locks, `${seconds.toFixed(1)} s`, mb(heap.before), mb(heap.after), ...keys];
  });
  return table(['store', 'locks', 'took', 'heap before', 'heap after', 'keys before', 'keys after'], rows);
}
