import assert from 'node:assert/strict';
import { ownerToken } from '../../engine/owner-token.js';
import type { ConformanceSuite } from './conformance.suite.js';

export function waiting(suite: ConformanceSuite): void {
  suite.group('waiting', () => {
    suite.test('a waiter gets the key soon after its release', async (bench) => {
      const [a, b] = await bench.stores(2);
      const key = bench.key();
      for (let round = 0; round < 5; round += 1) {
        const hold = await bench.take(a, key);
        const waiter = await bench.queue(b, key);
        await bench.sleep(20);
        assert.ok(waiter.isWaiting);
        assert.equal(await hold.release(), true);
        const next = await bench.soonDone(waiter.hold(), 'the release to reach the waiter');
        assert.equal(await bench.isTaken(a, key), true);
        assert.equal(await next.release(), true);
      }
    });

    suite.test('a waiter on a free key gets it at once', async (bench) => {
      const store = await bench.store();
      const result = await bench.soonDone(store.acquire(bench.request(bench.key(), { wait: true })), 'a free key');
      assert.ok(result.acquired);
    });

    suite.test('two waiters of one process and key are two', async (bench) => {
      const [a, b] = await bench.stores(2);
      const key = bench.key();
      const hold = await bench.take(a, key);
      const waiters = [await bench.queue(b, key), await bench.queue(b, key)];
      await hold.release();
      const first = await bench.soonDone(Promise.race(waiters.map((waiter) => waiter.hold())), 'the first of two');
      await bench.sleep(50);
      assert.equal(waiters.filter((waiter) => waiter.isGranted).length, 1);
      await first.release();
      await bench.soonDone(Promise.all(waiters.map((waiter) => waiter.hold())), 'the second of two');
    });

    suite.test('an aborted waiter settles soon and, once abandoned, leaves nothing behind', async (bench) => {
      const [a, b, c] = await bench.stores(3);
      const key = bench.key();
      const hold = await bench.take(a, key);
      const waiter = await bench.queue(b, key);
      waiter.abort();
      await bench.soonDone(waiter.settled(), 'the aborted waiter to settle');
      await b.abandon(key, waiter.owner);
      assert.equal((await a.inspect(key))?.waiters ?? 0, 0);
      await hold.release();
      await bench.take(c, key);
    });

    suite.test('a request whose signal has aborted already settles soon', async (bench) => {
      const [a, b] = await bench.stores(2);
      const key = bench.key();
      await bench.take(a, key);
      const request = bench.request(key, { wait: true, signal: AbortSignal.abort(new Error('too late')) });
      const settled = b.acquire(request).catch(() => ({ acquired: false }));
      assert.equal((await bench.soonDone(settled, 'the aborted request')).acquired, false);
      await b.abandon(key, request.owner);
    });

    suite.test('an abort that races with the grant leaves nothing held', async (bench) => {
      const [a, b, c] = await bench.stores(3);
      const key = bench.key();
      for (let round = 0; round < 60; round += 1) {
        const hold = await bench.take(a, key, { wait: true });
        const waiter = await bench.queue(b, key);
        const released = hold.release();
        if (round % 3 === 0) await released;
        if (round % 3 === 1) await Promise.resolve();
        waiter.abort();
        assert.equal(await released, true);
        const late = await bench.soonDone(waiter.settled(), 'the aborted waiter to settle');
        await late?.release();
        await b.abandon(key, waiter.owner);
        const next = await bench.attempt(c, key);
        assert.ok(next, `round ${round}: something still holds the key, or queues for it`);
        await next.release();
      }
    });

    suite.test('a single try leaves no trace in the queue', async (bench) => {
      const [a, b, c] = await bench.stores(3);
      const key = bench.key();
      const hold = await bench.take(a, key);
      for (let round = 0; round < 5; round += 1) assert.equal(await bench.attempt(b, key), undefined);
      assert.equal((await a.inspect(key))?.waiters ?? 0, 0);
      await hold.release();
      await bench.take(c, key);
    });

    suite.test('a waiter whose process has gone does not hold up those behind it', async (bench) => {
      const [a, b, c] = await bench.stores(3);
      const key = bench.key();
      const hold = await bench.take(a, key);
      const gone = await bench.queue(b, key);
      const next = await bench.queue(c, key);
      await b.close();
      await gone.settled();
      await hold.release();
      await bench.within(5_000, next.hold(), 'the key to pass over a process that has gone');
    });

    suite.test('a hot key is never held twice', async (bench) => {
      const stores = await bench.stores(4);
      const key = bench.key();
      let holders = 0;
      const work = stores.map(async (store) => {
        for (let round = 0; round < 25; round += 1) {
          const owner = ownerToken();
          const result = await store.acquire(bench.request(key, { owner, wait: true }));
          assert.ok(result.acquired);
          assert.equal((holders += 1), 1);
          await new Promise(setImmediate);
          holders -= 1;
          assert.equal(await result.hold.release(), true);
        }
      });
      await bench.within(20_000, Promise.all(work), '100 holds');
    });
  });
}
