import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, afterEach, describe, expect, it } from '@jest/globals';
import type { LockStore, StoreHold } from '../../../lib/contract/index.js';
import { RedisClusterBench } from '../../support/redis-cluster-bench.js';
import type { ClusterFamily } from '../../support/redis-cluster-clients.js';
import type { RedisClusterNode } from '../../support/redis-cluster-node.js';
import { RedisCluster } from '../../support/redis-cluster.js';
import { newOwner, take, until } from '../../support/redis-requests.js';

const cluster = await RedisCluster.start();
afterAll(() => cluster.stop());

const families: ClusterFamily[] = ['ioredis6', 'redis6'];

describe.each(families)('a cluster that changes, by %s', (family) => {
  const bench = new RedisClusterBench(cluster, family);
  afterEach(async () => {
    await bench.end();
    await cluster.waitUntilHealthy();
  });

  it('gives larger tokens after a release, an expiry, a move of the slot and a failover', async () => {
    const [a, b] = [await bench.open(), await bench.open()];
    const fences: bigint[] = [];
    for (const happens of [
      async () => undefined,
      () => cluster.moveSlotOf(bench.lockName()),
      () => cluster.failover(bench.lockName()),
      () => cluster.moveSlotOf(bench.lockName()),
    ]) {
      const released = await patiently(() => take(a, bench.key));
      expect(await released.release()).toBe(true);
      const expiring = await take(b, bench.key, { ttl: 150 });
      const next = await take(a, bench.key, { wait: true });
      await patiently(() => next.release());
      fences.push(released.fence!, expiring.fence!, next.fence!);
      await happens();
    }
    const last = await patiently(() => take(b, bench.key));
    fences.push(last.fence!);
    await last.release();
    expect(fences).toEqual([...new Set(fences)].sort((one, other) => (one < other ? -1 : 1)));
  });

  it('finds a slot that was moved before the call, with no error', async () => {
    const store = await bench.open();
    for (let round = 0; round < 3; round += 1) {
      const hold = await take(store, bench.key);
      await cluster.moveSlotOf(bench.lockName());
      expect(await store.renew!([{ hold, ttl: 10_000 }])).toEqual(['renewed']);
      await cluster.moveSlotOf(bench.lockName());
      expect((await store.inspect(bench.key))?.owner).toBe(hold.owner);
      await cluster.moveSlotOf(bench.lockName());
      expect(await hold.release()).toBe(true);
      await cluster.moveSlotOf(bench.lockName());
    }
  });

  it('renews and gives back a hold whose slot moves in its middle, and wakes who waits for it', async () => {
    const options = { pollInterval: '30s', claimTtl: '10s' };
    const [holder, waiter] = [await bench.engine(options), await bench.engine(options)];
    const hold = await holder.acquire(bench.key, { ttl: 1_500 });
    const waiting = waiter.acquire(bench.key, { wait: 20_000 });
    await until(async () => (await holder.store.inspect(bench.key))?.waiters === 1);
    await cluster.moveSlotOf(bench.lockName());
    await sleep(2_500);
    expect(hold.held).toBe(true);
    expect(holder.lost).toEqual([]);
    const released = performance.now();
    expect(await hold.release()).toBe(true);
    const next = await waiting;
    expect(performance.now() - released).toBeLessThan(2_000);
    expect(next.fencingToken > hold.fencingToken).toBe(true);
    expect(await next.release()).toBe(true);
  });

  it('finds a slot that was moved also where replicas have to confirm', async () => {
    const store = await bench.open({ waitReplicas: { count: 1 } });
    const hold = await take(store, bench.key);
    for (let round = 0; round < 3; round += 1) {
      await cluster.moveSlotOf(bench.lockName());
      const moved = performance.now();
      await patiently(() => renewed(store, hold));
      // Well before the slots would be asked for anyway.
      expect(performance.now() - moved).toBeLessThan(2_500);
      expect(await (await patiently(() => take(store, `${bench.key}-${round}`))).release()).toBe(true);
    }
    expect(await patiently(() => hold.release())).toBe(true);
  });

  it('finds a new master also where replicas have to confirm', async () => {
    const store = await bench.open({ waitReplicas: { count: 1 } });
    const hold = await take(store, bench.key, { ttl: 30_000 });
    await cluster.failover(bench.lockName());
    await patiently(() => renewed(store, hold));
    expect(await patiently(() => hold.release())).toBe(true);
  });

  it('renews many holds while their slots move one after the other', async () => {
    const process = await bench.engine();
    const keys = Array.from({ length: 40 }, (_, index) => `${bench.key}-${index}`);
    const holds = await Promise.all(keys.map((key) => process.acquire(key, { ttl: 2_000 })));
    for (const key of keys.slice(0, 20)) await cluster.moveSlotOf(bench.lockName(key));
    await sleep(2_500);
    expect(holds.filter(({ held }) => !held)).toEqual([]);
    expect(await Promise.all(holds.map((hold) => hold.release()))).toEqual(keys.map(() => true));
    expect(process.lost).toEqual([]);
  });

  // With no key moved, with some of those that a call needs, and with all of them.
  it.each([0, 1, 2, 10])(
    'waits or fails within its bound while a slot stands half moved, %i keys moved',
    async (moved) => {
      const commandTimeout = 1_000;
      const [holder, other] = [await bench.engine({ commandTimeout }), await bench.open({ commandTimeout })];
      const [held, ...free] = bench.keysInSlot(bench.slotOf(), 4, 1_000_000) as [string, string, string, string];
      const hold = await holder.acquire(held, { ttl: 3_000 });
      const waiting = holder.acquire(free[2], { wait: 15_000 });
      await (await waiting).release();
      const from = await cluster.masterOfSlot(bench.slotOf());
      const to = (await cluster.masters()).find((master) => master !== from)!;
      await cluster.startMoving(bench.slotOf(), to, moved);
      const end = performance.now() + 2_000;
      while (performance.now() < end) {
        for (const call of [
          () => takeAndLeave(free[0]),
          () => other.inspect(held),
          () => other.forceRelease(free[1]),
          () => takeAndLeave(held).catch(contended),
        ]) {
          const asked = performance.now();
          await call().catch((error: unknown) => {
            expect(error).toMatchObject({ code: 'LOCK_UNAVAILABLE', retryable: true });
          });
          expect(performance.now() - asked).toBeLessThan(commandTimeout * 4);
        }
        await sleep(50);
      }
      // As the engine does: what has no certain outcome is abandoned.
      async function takeAndLeave(key: string): Promise<void> {
        const owner = newOwner();
        try {
          await (await take(other, key, { owner, ttl: 1_000 })).release();
        } catch (error) {
          await other.abandon(key, owner).catch(() => undefined);
          throw error;
        }
      }

      const waits = holder.acquire(free[0], { wait: 15_000 });
      await sleep(1_500);
      await cluster.finishMoving(bench.slotOf());
      expect(await (await waits).release()).toBe(true);
      expect(hold.held).toBe(true);
      expect(holder.lost).toEqual([]);
      expect(await hold.release()).toBe(true);
      for (const key of [held, ...free]) {
        expect(await (await patiently(() => take(other, key, { wait: true }))).release()).toBe(true);
      }
    },
  );

  it('keeps a hold over an ordered failover, and serves who waits for it', async () => {
    await goesOn(() => cluster.failover(bench.lockName()));
  }, 60_000);

  it('keeps a hold over the death of a master whose replica had it, and serves who waits for it', async () => {
    let dead: RedisClusterNode | undefined;
    try {
      await goesOn(async () => {
        dead = await cluster.killMasterOf(bench.lockName());
        await cluster.waitUntilHealthy();
      });
    } finally {
      if (dead) await cluster.restart(dead);
    }
  }, 60_000);

  async function goesOn(happens: () => Promise<unknown>): Promise<void> {
    const [holder, ...others] = [await bench.engine(), await bench.engine(), await bench.engine()];
    const hold = await holder.acquire(bench.key, { ttl: 12_000 });
    const waiting = [];
    for (const [index, process] of others.entries()) {
      waiting.push(process.acquire(bench.key, { wait: 50_000 }));
      await until(async () => (await holder.store.inspect(bench.key))?.waiters === index + 1);
    }
    await happens();
    // Renewed by the new master: more is left than the last renewal before the change could have given.
    const changed = performance.now();
    const renewedSince = async (): Promise<boolean> => {
      const { remaining = 0 } = (await holder.store.inspect(bench.key).catch(() => undefined)) ?? {};
      return performance.now() + remaining > changed + 12_000;
    };
    await until(renewedSince, 12_000);
    expect(hold.held).toBe(true);
    expect(await hold.release()).toBe(true);
    const fences = [hold.fencingToken];
    // In any order: a queue that nobody could look at for a while is forgotten, and they line up anew.
    const served = waiting.map(async (next) => {
      const granted = await next;
      fences.push(granted.fencingToken);
      expect(await granted.release()).toBe(true);
    });
    await Promise.all(served);
    expect(fences).toEqual([...fences].sort((one, other) => (one < other ? -1 : 1)));
    for (const process of [holder, ...others]) expect(process.lost).toEqual([]);
  }
});

async function renewed(store: LockStore, hold: StoreHold): Promise<void> {
  const [outcome] = await store.renew!([{ hold, ttl: 30_000 }]);
  expect(outcome).not.toBe('lost');
  if (outcome === 'unknown') throw Object.assign(new Error('whether it was renewed is unknown'), { retryable: true });
}

function contended(error: Error): void {
  if (!/is held by/.test(error.message)) throw error;
}

/** Asks again, as the engine would, while the cluster cannot be reached. */
async function patiently<T>(ask: () => Promise<T>): Promise<T> {
  const end = performance.now() + 10_000;
  for (;;) {
    try {
      return await ask();
    } catch (error) {
      if ((error as { retryable?: boolean }).retryable !== true || performance.now() > end) throw error;
      await sleep(50);
    }
  }
}
