import assert from 'node:assert/strict';
import type { ConformanceSuite } from './conformance.suite.js';

export function closing(suite: ConformanceSuite): void {
  suite.group('closing', () => {
    suite.test('ends every wait with an error', async (bench) => {
      const [a, b] = await bench.stores(2);
      const key = bench.key();
      await bench.take(a, key);
      const queue = await bench.queueAll([b, b], key);
      await bench.within(5_000, b.close(), 'close()');
      for (const waiter of queue)
        await bench.soonDone(assert.rejects(waiter.hold()), 'a waiter of a closed store to settle');
    });

    suite.test('may be repeated, and come before the first use', async (bench) => {
      for (const store of [await bench.store(), await bench.unopened()]) {
        await bench.within(5_000, store.close(), 'close()');
        await bench.within(5_000, store.close(), 'a second close()');
      }
    });

    suite.test('leaves other processes alone', async (bench) => {
      const [a, b, c] = await bench.stores(3);
      const key = bench.key();
      const hold = await bench.take(a, key);
      const waiter = await bench.queue(c, key);
      await b.close();
      assert.ok(waiter.isWaiting);
      assert.equal(await hold.release(), true);
      await bench.soonDone(waiter.hold(), 'the hand-off');
    });
  });
}
