import assert from 'node:assert/strict';
import { once } from 'node:events';
import { LockErrorCode } from '../../errors/index.js';
import type { ConformanceSuite } from './conformance.suite.js';

/** What ends a hold, or keeps it, whatever the store's locks live by. */
export function engineLimits(suite: ConformanceSuite): void {
  suite.group('limits of a hold', () => {
    suite.test('work that outlasts its ttl without renewal runs once, and its release says so', async (bench) => {
      const process = await bench.process();
      const key = bench.key();
      let runs = 0;
      const options = { ttl: bench.ms(100), renew: false, wait: Infinity };
      const hold = await process.acquire(key, options);
      await bench.sleep(200);
      const start = performance.now();
      assert.equal(await hold.release(), false);
      assert.ok(performance.now() - start < bench.ms(1_000));
      const result = await process.run(
        key,
        async () => {
          runs += 1;
          await bench.sleep(200);
          return 'done';
        },
        options,
      );
      assert.equal(result, 'done');
      assert.equal(runs, 1);
      assert.equal(process.lost.length, 2);
    });

    suite.test('`extend()` lets a hold that is not renewed last for as long again, and no longer', async (bench) => {
      const process = await bench.process();
      const ttl = bench.ms(300);
      const hold = await process.acquire(bench.key(), { ttl, renew: false });
      const aborted = once(hold.signal, 'abort');
      await bench.sleep(150);
      const extended = performance.now();
      const remaining = await hold.extend();
      assert.ok(remaining > ttl / 2 && remaining <= ttl, `${remaining} ms remain`);
      await bench.soonDone(aborted, 'the signal');
      assert.ok(performance.now() - extended >= ttl * 0.9 - 5, `over after ${performance.now() - extended} ms`);
      assert.equal(await hold.release(), false);
    });

    suite.test("a late release leaves the successor's lock alone, whatever the cleaning up does", async (bench) => {
      const [a, b, c] = await bench.processes(3);
      const key = bench.key();
      const late = await a.acquire(key, { ttl: bench.ms(100), renew: false });
      const successor = await bench.soonDone(b.acquire(key), 'the successor');
      assert.equal(await late.release(), false);
      await bench.sleep(200);
      await assert.rejects(c.acquire(key, { wait: 0 }), { code: LockErrorCode.Contended });
      assert.ok(successor.held);
      assert.equal(await successor.release(), true);
    });

    suite.test('`maxHold` ends a hold that renewal would keep for ever, and frees the key', async (bench) => {
      const [a, b] = await bench.processes(2);
      const key = bench.key();
      const hold = await a.acquire(key, { ttl: bench.ms(20_000), maxHold: bench.ms(200) });
      await bench.soonDone(once(hold.signal, 'abort'), 'the signal');
      await bench.soonDone(b.acquire(key), 'the key to be free');
      assert.equal(await hold.release(), false);
    });

    suite.test('`minHold` keeps the key taken after the body is done, and no longer', async (bench) => {
      const [a, b] = await bench.processes(2);
      const key = bench.key();
      const start = performance.now();
      const minHold = bench.ms(400);
      await a.run(key, () => undefined, { minHold });
      assert.ok(performance.now() - start < minHold, 'the body waited for minHold');
      await assert.rejects(b.acquire(key, { wait: 0 }), { code: LockErrorCode.Contended });
      await bench.soonDone(b.acquire(key), 'the key');
      assert.ok(performance.now() - start >= minHold - 5);
    });
  });
}
