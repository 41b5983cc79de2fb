import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { LockEngine } from '../../lib/engine/lock.engine.js';
import type { Hold } from '../../lib/engine/hold.js';
import { FaultRun } from '../support/fault-run.js';
import { openStore, type StoreLocation } from '../support/fault-worker.config.js';
import { RedisBackend } from '../support/redis-backend.js';
import { SqliteBackend } from '../support/sqlite-backend.js';

const redis = await RedisBackend.start();
const sqlite = new SqliteBackend();
afterAll(async () => {
  await redis.stop();
  sqlite.stop();
});

const stores: [string, StoreLocation][] = [
  ['redis', { redis: redis.url }],
  ['sqlite', { sqlite: sqlite.filename }],
];

describe.each(stores)('%s', (_, location) => {
  const ttl = 1_500;
  let run: FaultRun;
  let engine: LockEngine;

  beforeEach(async () => {
    run = new FaultRun(location);
    engine = new LockEngine({
      stores: new Map([['default', await openStore(location)]]),
      label: 'survivor',
      handOff: { max: 0, time: 0 },
    });
    await engine.open();
  });
  afterEach(async () => {
    await run.end();
    await engine.close(0);
  });

  function acquire(key: string): Promise<Hold> {
    const rest = { wait: 10_000, renew: true, maxHold: Infinity, minHold: 0, maxWaiters: Infinity, handOff: false };
    return engine.acquire(engine.backend('default', 'test'), { ...rest, key, ttl: 10_000 });
  }

  test('the lock of a killed process is free when its lease is over, not earlier and not much later', async () => {
    const [worker] = await run.start();
    await worker!.acquire('killed', ttl);
    // Renewed a few times before.
    await sleep(ttl * 1.5);
    const waiting = acquire('killed');
    await run.kill(worker!);
    const killed = performance.now();
    const hold = await waiting;
    const free = performance.now() - killed;
    expect(free).toBeLessThan(ttl + 1_000);
    // The last renewal was at most a third of a lease before, and some.
    expect(free).toBeGreaterThan(ttl * 0.3);
    expect(await hold.release()).toBe(true);
  }, 30_000);

  test('a process that was stopped for longer than its lease knows on its next line, and leaves the successor alone', async () => {
    const [worker] = await run.start();
    await worker!.acquire('stopped', ttl);
    const spun = worker!.spinUntilStopped(ttl / 2);
    await sleep(ttl / 10);
    worker!.pause();
    const successor = await acquire('stopped');
    worker!.resume();
    expect(await spun).toEqual({ heldAfter: false, released: false });
    await sleep(300);
    expect((await engine.backend('default', 'test').store.inspect('stopped'))?.owner).toBe(
      successor.grant.storeHold.owner,
    );
    expect(successor.held).toBe(true);
    expect(await successor.release()).toBe(true);
  }, 30_000);
});
