import assert from 'node:assert/strict';
import { assertHolder } from './assert-holder.js';
import type { ConformanceSuite } from './conformance.suite.js';

export function inspection(suite: ConformanceSuite): void {
  suite.group('inspection', () => {
    suite.test('a key that is free, released or expired has no holder', async (bench) => {
      const [a, b] = await bench.stores(2);
      const key = bench.key();
      assert.equal(await b.inspect(key), undefined);
      const hold = await bench.take(a, key);
      assert.notEqual(await b.inspect(key), undefined);
      await hold.release();
      assert.equal(await b.inspect(key), undefined);
      if (suite.guarantees.expiry !== 'lease') return;
      await bench.take(a, key, { ttl: bench.ms(100) });
      await bench.sleep(200);
      assert.equal(await b.inspect(key), undefined);
    });

    suite.test('tells who holds a key, for how long, and with which token', async (bench) => {
      const [a, b] = await bench.stores(2);
      const key = bench.key();
      const ttl = bench.ms(10_000);
      const hold = await bench.take(a, key, { ttl, label: 'hôst:17 🔑' });
      await bench.sleep(50);
      const seen = await b.inspect(key);
      assertHolder(seen, hold.owner, 'hôst:17 🔑');
      assert.equal(seen.fence ?? hold.fence, hold.fence);
      const { age = bench.ms(50), remaining = ttl / 2, waiters = 0 } = seen;
      assert.ok(age >= bench.ms(25) && age < bench.ms(5_000), `age ${age}`);
      assert.ok(remaining > ttl / 4 && remaining < ttl, `remaining ${remaining}`);
      assert.equal(waiters, 0);
      await hold.release();
    });

    suite.test('counts the waiters', async (bench) => {
      const [a, b, c] = await bench.stores(3);
      const key = bench.key();
      const hold = await bench.take(a, key);
      const [first, second] = await bench.queueAll([b, c], key);
      assert.equal((await a.inspect(key))?.waiters ?? 2, 2);
      await second?.leave();
      assert.equal((await a.inspect(key))?.waiters ?? 1, 1);
      await first?.leave();
      assert.equal((await a.inspect(key))?.waiters ?? 0, 0);
      await hold.release();
    });

    suite.test('looking changes nothing', async (bench) => {
      const [a, b] = await bench.stores(2);
      const key = bench.key();
      const hold = await bench.take(a, key);
      await Promise.all(Array.from({ length: 20 }, () => b.inspect(key)));
      assert.equal(await hold.release(), true);
      await b.inspect(key);
      await bench.take(b, key);
    });
  });
}
