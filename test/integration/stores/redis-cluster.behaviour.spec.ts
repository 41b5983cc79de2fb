import assert from 'node:assert/strict';
import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, afterEach, describe, expect, it } from '@jest/globals';
import type { StoreHold } from '../../../lib/contract/index.js';
import { RedisClusterBench } from '../../support/redis-cluster-bench.js';
import type { ClusterFamily } from '../../support/redis-cluster-clients.js';
import { RedisCluster } from '../../support/redis-cluster.js';
import { take, until } from '../../support/redis-requests.js';

const cluster = await RedisCluster.start();
afterAll(() => cluster.stop());

const families: ClusterFamily[] = ['ioredis6', 'redis6'];

describe.each(families)('a cluster, by %s', (family) => {
  const bench = new RedisClusterBench(cluster, family);
  afterEach(() => bench.end());

  it('goes on when all nodes forget their scripts', async () => {
    const store = await bench.open({ pollInterval: '30s' });
    const flush = () => cluster.onMasters('SCRIPT', 'FLUSH');
    await flush();
    const hold = await take(store, bench.key);
    await flush();
    const waiter = await bench.queue(store, bench.key);
    await flush();
    expect(await store.renew!([{ hold, ttl: 10_000 }])).toEqual(['renewed']);
    await flush();
    expect((await store.inspect(bench.key))?.owner).toBe(hold.owner);
    await flush();
    expect(await hold.release()).toBe(true);
    await waiter.done;
    await flush();
    expect(await store.forceRelease(bench.key)).toBe(true);
    expect(await waiter.settled.hold!.release()).toBe(false);
  });

  it('has a key’s lock, queue and counter in one slot', async () => {
    const store = await bench.open();
    const hold = await take(store, bench.key);
    const waiter = await bench.queue(store, bench.key);
    const names = (await cluster.keys(`*${bench.prefix}*`)).filter((name) => cluster.slotOf(name) === bench.slotOf());
    const [fence, ...others] = names.sort((one, other) => Number(isFence(other)) - Number(isFence(one)));
    expect(others.sort()).toEqual([bench.lockName(), `${bench.lockName()}:queue`]);
    expect(isFence(fence)).toBe(true);
    await hold.release();
    await waiter.done;
    await waiter.settled.hold!.release();
  });

  it('has no more counters than slots, however many keys there were, and leaves nothing else', async () => {
    const stores = [await bench.open(), await bench.open()];
    const slots = [100, 8_000, 16_000];
    // Starting tries the store out, on a key of its own.
    const atStart = (await cluster.keys(`*${bench.prefix}*`)).filter((name) => !slots.includes(cluster.slotOf(name)));
    for (const round of [0, 400_000]) {
      const keys = slots.flatMap((slot) => bench.keysInSlot(slot, 10, round));
      await Promise.all(keys.map(async (key, index) => (await take(stores[index % 2]!, key)).release()));
      const left = await cluster.keys(`*${bench.prefix}*`);
      expect(left.filter(isFence)).toEqual(left);
      expect(left.filter((name) => slots.includes(cluster.slotOf(name)))).toHaveLength(slots.length);
      expect(left.length).toBeLessThanOrEqual(atStart.length + slots.length);
    }
  });

  it('counts a slot’s tokens with one counter, whichever process asks', async () => {
    const stores = await Promise.all([bench.open(), bench.open(), bench.open()]);
    let last = 0n;
    for (const [index, key] of bench.keysInSlot(4_321, 12).entries()) {
      const hold = await take(stores[index % stores.length]!, key);
      expect(hold.fence! > last).toBe(true);
      last = hold.fence!;
      await hold.release();
    }
  });

  it('renews all holds of a slot by one request, and 200 over all slots by no more than one for each slot', async () => {
    const store = await bench.open();
    const sameSlot: StoreHold[] = [];
    for (const key of bench.keysInSlot(12_345, 20)) sameSlot.push(await take(store, key));
    expect(await countScripts(() => renewAll(sameSlot))).toBeLessThanOrEqual(2);

    const keys = Array.from({ length: 200 }, (_, index) => `${bench.key}-${index}`);
    const holds = await Promise.all(keys.map((key) => take(store, key)));
    // One node more for each that does not know the script yet.
    const slots = new Set(keys.map((key) => bench.slotOf(key))).size;
    expect(await countScripts(() => renewAll(holds))).toBeLessThanOrEqual(slots + 3);
    const masters = await Promise.all(keys.map((key) => cluster.masterOfSlot(bench.slotOf(key))));
    expect(new Set(masters).size).toBe(3);
    for (const [index, key] of keys.entries()) {
      if (index % 20 === 0) expect((await store.inspect(key))!.remaining).toBeGreaterThan(50_000);
    }
    await Promise.all([...holds, ...sameSlot].map((hold) => hold.release()));

    async function renewAll(all: readonly StoreHold[]): Promise<void> {
      const outcomes = await store.renew!(all.map((hold) => ({ hold, ttl: 60_000 })));
      expect(outcomes.filter((outcome) => outcome !== 'renewed')).toEqual([]);
    }
  });

  it('tells apart by slot what was renewed, what was lost and what is unknown', async () => {
    const store = await bench.open();
    const keys = Array.from({ length: 60 }, (_, index) => `${bench.key}-${index}`);
    const holds = await Promise.all(keys.map((key) => take(store, key)));
    for (const gone of [7, 31]) await store.forceRelease(keys[gone]!);
    const outcomes = await store.renew!(holds.map((hold) => ({ hold, ttl: 60_000 })));
    expect(outcomes.flatMap((outcome, index) => (outcome === 'renewed' ? [] : [[index, outcome]]))).toEqual([
      [7, 'lost'],
      [31, 'lost'],
    ]);
    await Promise.all(holds.map((hold) => hold.release()));
  });

  it('takes keys of different slots all or none', async () => {
    const [holder, other] = [await bench.engine(), await bench.engine()];
    // In the order of their names, one on each master.
    const keys = ['a', 'b', 'c'].map((name, index) => {
      const slot = (key: string) => Math.floor(bench.slotOf(key) / 5_462);
      return Array.from({ length: 1_000 }, (_, tried) => `${name}${tried}`).find((key) => slot(key) === index)!;
    });
    const last = await holder.acquire(keys[2]!);
    await assert.rejects(
      other.run(keys, () => assert.fail('the body ran'), { wait: 1_000 }),
      { code: 'LOCK_CONTENDED' },
    );
    for (const key of keys.slice(0, 2)) expect(await holder.store.inspect(key)).toBeUndefined();
    const waiting = other.run(keys, (lock) => [...lock.keys], { wait: 5_000 });
    await last.release();
    expect(await waiting).toEqual(keys);
    for (const key of keys) expect(await holder.store.inspect(key)).toBeUndefined();
  });

  it('hands over in order, by messages and not by polls', async () => {
    const pollInterval = 5_000;
    const stores = await Promise.all(Array.from({ length: 4 }, () => bench.open({ pollInterval, claimTtl: '5s' })));
    const took: number[] = [];
    for (let round = 0; round < 4; round += 1) {
      let current = await take(stores[0]!, bench.key);
      const waiters = [];
      for (const store of [...stores.slice(1), ...stores]) waiters.push(await bench.queue(store, bench.key));
      for (const [index, waiter] of waiters.entries()) {
        const released = performance.now();
        expect(await current.release()).toBe(true);
        await waiter.done;
        took.push(waiter.settled.at! - released);
        expect(waiters.filter(({ settled }) => settled.hold)).toHaveLength(index + 1);
        expect(waiter.settled.hold!.fence! > current.fence!).toBe(true);
        current = waiter.settled.hold!;
      }
      await current.release();
    }
    const median = took.sort((one, other) => one - other)[Math.floor(took.length / 2)]!;
    expect(median).toBeLessThan(pollInterval / 50);
  });

  it('loses no more than a claim’s time to a waiting process that has died', async () => {
    const claimTtl = 400;
    const options = { claimTtl, pollInterval: '100ms' };
    const [holding, dead, alive] = [await bench.open(options), await bench.open(options), await bench.open(options)];
    const hold = await take(holding, bench.key);
    const lost = await bench.queue(dead, bench.key);
    const waiter = await bench.queue(alive, bench.key);
    await dead.close();
    await lost.done;
    expect(lost.settled.error).toMatchObject({ code: 'LOCK_UNAVAILABLE' });
    const released = performance.now();
    await hold.release();
    await waiter.done;
    expect(waiter.settled.at! - released).toBeLessThan(claimTtl * 3);
    expect(await waiter.settled.hold!.release()).toBe(true);
  });

  it('does not storm a cluster that refuses connections, and hears messages again after it', async () => {
    const [a, b] = [await bench.open({ pollInterval: '30s' }), await bench.open({ pollInterval: '30s' })];
    let attempts = 0;
    const count = () => void (attempts += 1);
    for (const { proxy } of cluster.members) proxy.cut();
    subscribe('net.client.socket', count);
    await sleep(1_500);
    unsubscribe('net.client.socket', count);
    for (const { proxy } of cluster.members) proxy.heal();
    // A client that does not pause between its attempts makes thousands.
    expect(attempts).toBeLessThan(500);
    await until(() => Promise.all([a, b].map((store) => store.inspect(bench.key))).then(Boolean, () => false), 10_000);
    // Whoever listens may come back a little later than the requests do.
    await sleep(2_500);
    const hold = await take(a, bench.key);
    const waiter = await bench.queue(b, bench.key);
    const released = performance.now();
    await hold.release();
    await waiter.done;
    expect(waiter.settled.at! - released).toBeLessThan(1_000);
    await waiter.settled.hold!.release();
  });

  it('holds one key for many owners in many processes one after the other', async () => {
    const stores = await Promise.all(Array.from({ length: 3 }, () => bench.open()));
    let inside = 0;
    const fences: bigint[] = [];
    const work = stores.flatMap((store) =>
      Array.from({ length: 10 }, async () => {
        for (let round = 0; round < 8; round += 1) {
          const hold = await take(store, bench.key, { wait: true });
          inside += 1;
          expect(inside).toBe(1);
          fences.push(hold.fence!);
          await new Promise((resolve) => setImmediate(resolve));
          inside -= 1;
          expect(await hold.release()).toBe(true);
        }
      }),
    );
    await Promise.all(work);
    expect(fences).toEqual([...fences].sort((one, other) => (one < other ? -1 : 1)));
    await until(async () => (await cluster.keys(`*${bench.prefix}:${bench.key}*`)).length === 0);
  });
});

function isFence(name: string | undefined): boolean {
  return name?.endsWith(':fence') ?? false;
}

/** How many scripts all masters were asked for meanwhile. */
async function countScripts(run: () => Promise<unknown>): Promise<number> {
  await cluster.onMasters('CONFIG', 'RESETSTAT');
  await run();
  const stats = await Promise.all((await cluster.masters()).map((master) => master.send('INFO', 'commandstats')));
  const calls = stats.flatMap((text) => [...String(text).matchAll(/cmdstat_eval(?:sha)?:calls=(\d+)/g)]);
  return calls.reduce((sum, [, each]) => sum + Number(each), 0);
}
