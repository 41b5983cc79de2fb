import assert from 'node:assert/strict';
import type { LockStore, RenewOutcome, StoreHold } from '../../contract/index.js';
import type { ConformanceSuite } from './conformance.suite.js';

export function renewal(suite: ConformanceSuite): void {
  if (suite.guarantees.expiry !== 'lease') return;
  suite.group('renewal', () => {
    suite.test('keeps the key past its first lease, and says for how long', async (bench) => {
      const [a, b] = await bench.stores(2);
      const key = bench.key();
      const ttl = bench.ms(500);
      const hold = await bench.take(a, key, { ttl });
      for (let round = 0; round < 4; round += 1) {
        await bench.sleep(200);
        const before = hold.validUntil;
        assert.equal(await renew(a, hold, ttl), 'renewed');
        assert.ok(hold.validUntil > before);
        assert.ok(hold.validUntil <= performance.now() + ttl);
        assert.equal(await bench.isTaken(b, key), true);
      }
      assert.equal(await hold.release(), true);
    });

    suite.test('counts from now: it may shorten a lease as well', async (bench) => {
      const [a, b] = await bench.stores(2);
      const key = bench.key();
      const hold = await bench.take(a, key, { ttl: bench.ms(10_000) });
      assert.equal(await renew(a, hold, bench.ms(100)), 'renewed');
      assert.ok(hold.validUntil <= performance.now() + bench.ms(100));
      await bench.soonDone((await bench.queue(b, key)).hold(), 'the shortened lease to run out');
    });

    suite.test('never brings an expired lease back', async (bench) => {
      const [a, b] = await bench.stores(2);
      const key = bench.key();
      const hold = await bench.take(a, key, { ttl: bench.ms(100) });
      const before = hold.validUntil;
      await bench.sleep(200);
      assert.equal(await renew(a, hold, bench.ms(10_000)), 'lost');
      assert.equal(hold.validUntil, before);
      assert.equal(await b.inspect(key), undefined);
      await bench.take(b, key);
    });

    suite.test('leaves a successor its key and its own lease', async (bench) => {
      const [a, b] = await bench.stores(2);
      const key = bench.key();
      const late = await bench.take(a, key, { ttl: bench.ms(100) });
      const next = await bench.soonDone((await bench.queue(b, key, { ttl: bench.ms(300) })).hold(), 'the takeover');
      assert.equal(await renew(a, late, bench.ms(10_000)), 'lost');
      assert.equal((await a.inspect(key))?.owner, next.owner);
      await bench.sleep(400);
      await bench.take(a, key);
    });

    suite.test('finds a key lost that another took and gave back meanwhile', async (bench) => {
      const [a, b] = await bench.stores(2);
      const key = bench.key();
      const slow = await bench.take(a, key, { ttl: bench.ms(100) });
      const next = await bench.soonDone((await bench.queue(b, key)).hold(), 'the takeover');
      assert.equal(await next.release(), true);
      assert.equal(await renew(a, slow, bench.ms(10_000)), 'lost');
      assert.equal(await a.inspect(key), undefined);
    });

    suite.test('finds a key lost that was released, abandoned or released by force', async (bench) => {
      const store = await bench.store();
      const ends: ((hold: StoreHold) => Promise<unknown>)[] = [
        (hold) => hold.release(),
        (hold) => store.abandon(hold.key, hold.owner),
        (hold) => store.forceRelease(hold.key),
      ];
      for (const end of ends) {
        const hold = await bench.take(store, bench.key());
        await end(hold);
        assert.equal(await renew(store, hold, bench.ms(10_000)), 'lost');
        assert.equal(await store.inspect(hold.key), undefined);
      }
    });

    suite.test('answers a large batch in its order', async (bench) => {
      const store = await bench.store();
      const holds: StoreHold[] = [];
      for (let index = 0; index < 250; index += 1) holds.push(await bench.take(store, bench.key()));
      const gone = holds.filter((_, index) => index % 3 === 1);
      await Promise.all(gone.map((hold) => hold.release()));
      const ttl = bench.ms(20_000);
      const outcomes = await store.renew?.(holds.map((hold) => ({ hold, ttl })));
      assert.deepEqual(
        outcomes,
        holds.map((_, index) => (index % 3 === 1 ? 'lost' : 'renewed')),
      );
      for (const [index, { validUntil }] of holds.entries()) {
        assert.equal(validUntil > performance.now() + bench.ms(15_000), index % 3 !== 1);
      }
      assert.deepEqual(await store.renew?.([]), []);
    });
  });
}

async function renew(store: LockStore, hold: StoreHold, ttl: number): Promise<RenewOutcome | undefined> {
  const outcomes = await store.renew?.([{ hold, ttl }]);
  return outcomes?.[0];
}
