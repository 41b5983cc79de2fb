import assert from 'node:assert/strict';
import type { StoreHold } from '../../contract/index.js';
import type { ConformanceSuite } from './conformance.suite.js';

export function fencing(suite: ConformanceSuite): void {
  const { fencing: reach, expiry } = suite.guarantees;
  if (reach === 'none') {
    suite.test('a store without fencing gives no token', async (bench) => {
      assert.equal((await bench.take(await bench.store(), bench.key())).fence, undefined);
    });
    return;
  }
  suite.group('fencing', () => {
    suite.test('each hold of a key has a larger token, however the one before it ended', async (bench) => {
      const [a, b] = await bench.stores(2);
      const key = bench.key();
      const holds: StoreHold[] = [];
      const take = async (store = a, options = {}): Promise<StoreHold> => {
        const hold = await bench.take(store, key, { wait: true, ...options });
        holds.push(hold);
        return hold;
      };
      await (await take()).release();
      await (await take(b)).release();
      if (expiry === 'lease') await take(a, { ttl: bench.ms(100) });
      await take(b);
      await a.forceRelease(key);
      const left = await take(a);
      await a.abandon(key, left.owner);
      await take(b);
      await b.forceRelease(key);
      const newcomer = await bench.store();
      await (await take(newcomer)).release();
      await newcomer.close();
      await (await take(await bench.store())).release();
      assertIncreasing(holds);
    });

    suite.test('a hand-off through the queue gives a larger token', async (bench) => {
      const [a, b, c] = await bench.stores(3);
      const key = bench.key();
      const first = await bench.take(a, key);
      const holds = [first];
      const queue = await bench.queueAll([b, c, a], key);
      await first.release();
      const granted = queue.map(async (waiter) => {
        const hold = await waiter.hold();
        holds.push(hold);
        await hold.release();
      });
      await bench.within(5_000, Promise.all(granted), 'three hand-offs');
      assertIncreasing(holds);
    });

    suite.test('a quick succession of holds never repeats a token', async (bench) => {
      const [a, b] = await bench.stores(2);
      const key = bench.key();
      const holds: StoreHold[] = [];
      for (let round = 0; round < 100; round += 1) {
        const hold = await bench.take(round % 2 === 0 ? a : b, key);
        holds.push(hold);
        await hold.release();
      }
      assertIncreasing(holds);
    });

    suite.test('tokens stay below 2^53', async (bench) => {
      const { fence = 0n } = await bench.take(await bench.store(), bench.key());
      assert.ok(fence > 0n && fence < 2n ** 53n);
    });

    if (reach === 'global') {
      suite.test('tokens increase over all keys, and no two are equal', async (bench) => {
        const [a, b] = await bench.stores(2);
        const inTurn: StoreHold[] = [];
        for (let round = 0; round < 10; round += 1) inTurn.push(await bench.take(round % 2 === 0 ? a : b, bench.key()));
        assertIncreasing(inTurn);
        const takes = Array.from({ length: 100 }, (_, index) => bench.take(index % 2 === 0 ? a : b, bench.key()));
        const fences = (await Promise.all(takes)).map(({ fence }) => fence);
        assert.equal(new Set(fences).size, fences.length);
      });
    }

    suite.faultTest('loseData', 'tokens increase also after the backend has lost its data', async (bench, cause) => {
      const store = await bench.store();
      const key = bench.key();
      const before = await bench.take(store, key);
      await cause();
      let after: StoreHold | undefined;
      await bench.eventually(
        async () => {
          after = await bench.attempt(store, key).catch(() => undefined);
          return after !== undefined;
        },
        'the store to work with an empty backend',
        10_000,
      );
      assertIncreasing([before, after as StoreHold]);
    });
  });
}

function assertIncreasing(holds: readonly StoreHold[]): void {
  const fences = holds.map(({ fence }) => fence);
  for (const [index, fence] of fences.entries()) {
    const before = fences[index - 1] ?? 0n;
    assert.ok(
      fence !== undefined && fence > before,
      `token ${String(fence)} follows ${before} in ${fences.join(', ')}`,
    );
  }
}
