import assert from 'node:assert/strict';
import { ownerToken } from '../../engine/owner-token.js';
import type { ConformanceSuite } from './conformance.suite.js';

export function ownership(suite: ConformanceSuite): void {
  suite.group('ownership', () => {
    suite.test('a free key goes to whoever asks first, and to nobody else', async (bench) => {
      const [a, b] = await bench.stores(2);
      const key = bench.key();
      await bench.take(a, key);
      assert.equal(await bench.attempt(b, key), undefined);
      assert.equal(await bench.attempt(a, key), undefined);
    });

    suite.test('of many who ask at once exactly one gets the key', async (bench) => {
      const stores = await bench.stores(4);
      for (let round = 0; round < 20; round += 1) {
        const key = bench.key();
        const tries = [...stores, ...stores, ...stores].map((store) => bench.attempt(store, key));
        const won = (await Promise.all(tries)).filter((hold) => hold !== undefined);
        assert.equal(won.length, 1);
        assert.equal(await won[0]?.release(), true);
      }
    });

    suite.test('whoever is refused is told who holds the key', async (bench) => {
      const [a, b] = await bench.stores(2);
      const key = bench.key();
      await bench.take(a, key, { label: 'host-a:17', ttl: bench.ms(5_000) });
      const result = await b.acquire(bench.request(key));
      assert.ok(!result.acquired);
      assert.equal(result.holder?.label ?? 'host-a:17', 'host-a:17');
      assert.ok((result.holder?.remaining ?? 0) <= bench.ms(5_000));
    });

    suite.test('asking again as the same owner finds the same hold', async (bench) => {
      const [a, b] = await bench.stores(2);
      const key = bench.key();
      const owner = ownerToken();
      const first = await bench.take(a, key, { owner });
      const again = await bench.take(a, key, { owner });
      await bench.soonDone(bench.take(a, key, { owner, wait: true }), 'a holder who asks with `wait`');
      assert.equal(again.owner, owner);
      assert.equal(again.fence, first.fence);
      assert.equal(await again.release(), true);
      assert.equal(await bench.isTaken(b, key), false);
    });

    suite.test('a release frees the key and says that it was ours, once', async (bench) => {
      const [a, b] = await bench.stores(2);
      const key = bench.key();
      const hold = await bench.take(a, key);
      assert.equal(await hold.release(), true);
      assert.equal(await hold.release(), false);
      const next = await bench.take(b, key);
      assert.equal(await hold.release(), false);
      assert.equal(await bench.isTaken(a, key), true);
      assert.equal(await next.release(), true);
    });

    suite.test('abandoning frees the key of its owner and may be repeated', async (bench) => {
      const [a, b] = await bench.stores(2);
      const key = bench.key();
      const hold = await bench.take(a, key);
      const { owner } = hold;
      await bench.soonDone(a.abandon(key, owner), 'abandon()');
      await bench.take(b, key);
      await a.abandon(key, owner);
      assert.equal(await hold.release(), false);
      assert.equal(await bench.isTaken(a, key), true);
    });

    suite.test("abandoning leaves another owner's lock and place alone", async (bench) => {
      const [a, b, c] = await bench.stores(3);
      const key = bench.key();
      const hold = await bench.take(a, key);
      const waiter = await bench.queue(b, key);
      await c.abandon(key, ownerToken());
      assert.equal(await bench.isTaken(c, key), true);
      assert.equal(await hold.release(), true);
      await bench.soonDone(waiter.hold(), 'the waiter to be granted');
    });

    suite.test('a forced release takes the key from its holder', async (bench) => {
      const [a, b] = await bench.stores(2);
      const key = bench.key();
      const hold = await bench.take(a, key);
      assert.equal(await b.forceRelease(key), true);
      assert.equal(await b.forceRelease(key), false);
      const next = await bench.take(b, key);
      assert.equal(await hold.release(), false);
      assert.equal(await next.release(), true);
    });

    suite.test('a forced release of a free key says that it was free', async (bench) => {
      assert.equal(await (await bench.store()).forceRelease(bench.key()), false);
    });
  });
}
