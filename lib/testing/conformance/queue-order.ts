import assert from 'node:assert/strict';
import { assertHolder } from './assert-holder.js';
import type { Bench } from './bench.js';
import type { ConformanceSuite } from './conformance.suite.js';
import type { Queued } from './queued.js';

export function queueOrder(suite: ConformanceSuite): void {
  if (!suite.guarantees.fifo) return;
  suite.group('queue order', () => {
    suite.test('waiters are served in the order in which they came', async (bench) => {
      const [holder, ...others] = await bench.stores(5);
      const key = bench.key();
      const hold = await bench.take(holder as never, key);
      const queue = await bench.queueAll([...others, ...others], key);
      await hold.release();
      await serveInOrder(bench, queue);
    });

    for (const [place, index] of [
      ['front', 0],
      ['middle', 2],
      ['back', 4],
    ] as const) {
      suite.test(`whoever gives up at the ${place} of the queue leaves the others their order`, async (bench) => {
        const stores = await bench.stores(6);
        const key = bench.key();
        const hold = await bench.take(stores[5] as never, key);
        const queue = await bench.queueAll(stores.slice(0, 5), key);
        await (queue.splice(index, 1)[0] as Queued).leave();
        await hold.release();
        await serveInOrder(bench, queue);
      });
    }

    suite.test('a single try never overtakes the queue', async (bench) => {
      const [a, b, c] = await bench.stores(3);
      const key = bench.key();
      for (let round = 0; round < 30; round += 1) {
        const hold = await bench.take(a, key, { wait: true });
        const waiter = await bench.queue(b, key);
        const [, overtaken] = await Promise.all([hold.release(), bench.attempt(c, key), bench.attempt(a, key)]);
        assert.equal(overtaken, undefined, `round ${round}`);
        await (await bench.soonDone(waiter.hold(), 'the waiter to be granted')).release();
      }
    });

    suite.test('a newcomer who waits stands behind those who wait already', async (bench) => {
      const [a, b, c] = await bench.stores(3);
      const key = bench.key();
      for (let round = 0; round < 10; round += 1) {
        const hold = await bench.take(a, key, { wait: true });
        const waiter = await bench.queue(b, key);
        const released = hold.release();
        const newcomer = c.acquire(bench.request(key, { wait: true }));
        const first = await Promise.race([waiter.hold().then(() => 'waiter'), newcomer.then(() => 'newcomer')]);
        assert.equal(first, 'waiter', `round ${round}`);
        await released;
        await (await waiter.hold()).release();
        const last = await bench.soonDone(newcomer, 'the newcomer to be granted');
        assert.ok(last.acquired);
        await last.hold.release();
      }
    });

    suite.test('a forced release gives the key to the next in the queue', async (bench) => {
      const [a, b, c] = await bench.stores(3);
      const key = bench.key();
      const hold = await bench.take(a, key);
      const waiter = await bench.queue(b, key);
      assert.equal(await c.forceRelease(key), true);
      const next = await bench.soonDone(waiter.hold(), 'the waiter to be granted');
      assert.equal(await hold.release(), false);
      assertHolder(await c.inspect(key), next.owner);
    });

    suite.test('an expired lease goes to the next in the queue', async (bench) => {
      if (suite.guarantees.expiry !== 'lease') return;
      const [a, b, c] = await bench.stores(3);
      const key = bench.key();
      await bench.take(a, key, { ttl: bench.ms(300) });
      await serveInOrder(bench, await bench.queueAll([b, c, b], key));
    });
  });
}

/** Each gets the key, none before its turn. */
async function serveInOrder(bench: Bench, queue: readonly Queued[]): Promise<void> {
  for (const [index, waiter] of queue.entries()) {
    const hold = await bench.soonDone(waiter.hold(), `waiter ${index + 1} of ${queue.length} to be granted`);
    assert.deepEqual(
      queue.slice(index + 1).map((later) => later.isGranted),
      queue.slice(index + 1).map(() => false),
    );
    assert.equal(await hold.release(), true);
  }
}
