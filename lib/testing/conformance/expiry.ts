import assert from 'node:assert/strict';
import type { ConformanceSuite } from './conformance.suite.js';

export function expiry(suite: ConformanceSuite): void {
  if (suite.guarantees.expiry !== 'lease') return;
  suite.group('expiry', () => {
    suite.test(
      'a hold is never certain for longer than its lease, counted from when it was asked for',
      async (bench) => {
        const store = await bench.store();
        for (const ttl of [100, 1_000, 10_000].map((duration) => bench.ms(duration))) {
          const start = performance.now();
          const { validUntil } = await bench.take(store, bench.key(), { ttl });
          assert.ok(validUntil < performance.now() + ttl);
          assert.ok(validUntil > start + ttl / 2, 'a lease should be certain for most of its time');
          // The request may have been sent a moment after the clock was read here.
          assert.ok(validUntil <= start + ttl || performance.now() - start > ttl * 0.01);
        }
      },
    );

    suite.test('a lease that is not renewed ends, and the next owner may take the key', async (bench) => {
      const [a, b] = await bench.stores(2);
      const key = bench.key();
      const ttl = bench.ms(300);
      const { validUntil } = await bench.take(a, key, { ttl });
      await bench.sleep(100);
      if (performance.now() < validUntil) assert.equal(await bench.attempt(b, key), undefined);
      await bench.sleep(300);
      await bench.take(b, key);
    });

    suite.test('a waiter takes an expired key over, not before its holder knows that it has expired', async (bench) => {
      const [a, b] = await bench.stores(2);
      const key = bench.key();
      const { validUntil } = await bench.take(a, key, { ttl: bench.ms(300) });
      const hold = await bench.soonDone((await bench.queue(b, key)).hold(), 'the lease to run out');
      assert.ok(performance.now() >= validUntil, 'granted while the first hold was still certain');
      assert.equal(await hold.release(), true);
    });

    suite.test("a late release leaves the successor's lock alone", async (bench) => {
      const [a, b, c] = await bench.stores(3);
      const key = bench.key();
      const late = await bench.take(a, key, { ttl: bench.ms(100) });
      const successor = await bench.soonDone((await bench.queue(b, key)).hold(), 'the lease to run out');
      assert.equal(await late.release(), false);
      assert.equal(await bench.isTaken(c, key), true);
      assert.equal((await b.inspect(key))?.owner, successor.owner);
      assert.equal(await successor.release(), true);
    });

    suite.test('a release after the lease has run out says that the key was not ours any more', async (bench) => {
      const store = await bench.store();
      const hold = await bench.take(store, bench.key(), { ttl: bench.ms(100) });
      await bench.sleep(200);
      assert.equal(await hold.release(), false);
    });

    suite.test('each owner gets its own lease time, also one that was granted while it waited', async (bench) => {
      const [a, b] = await bench.stores(2);
      const key = bench.key();
      const first = await bench.take(a, key, { ttl: bench.ms(10_000) });
      const waiter = await bench.queue(b, key, { ttl: bench.ms(300) });
      await first.release();
      const second = await bench.soonDone(waiter.hold(), 'the hand-off');
      assert.ok(second.validUntil <= performance.now() + bench.ms(300));
      await bench.take(a, key, { wait: true });
      assert.ok(performance.now() >= second.validUntil);
    });
  });
}
