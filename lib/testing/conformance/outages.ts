import assert from 'node:assert/strict';
import type { ConformanceHooks } from './conformance.hooks.js';
import type { ConformanceSuite } from './conformance.suite.js';

const OUTAGES = [
  ['pauseServer', 'a server that does not answer'],
  ['refuseConnections', 'a server that cannot be reached'],
] as const satisfies readonly (readonly [keyof ConformanceHooks, string])[];

export function outages(suite: ConformanceSuite): void {
  const outlivesConnections = suite.guarantees.expiry !== 'connection';
  suite.group('outages', () => {
    for (const [fault, name] of OUTAGES) {
      suite.faultTest(
        fault,
        `${name} keeps no call from settling, and the store recovers by itself`,
        async (bench, cause) => {
          const store = await bench.store();
          const key = bench.key();
          const hold = await bench.take(store, key, { ttl: bench.ms(30_000) });
          // What was held on a connection has gone with it, and that is known without asking the server.
          const given = outlivesConnections
            ? await bench.take(store, bench.key(), { ttl: bench.ms(30_000) })
            : undefined;
          const end = await cause();
          const calls: [string, () => Promise<unknown>][] = [
            ['acquire()', () => store.acquire(bench.request(bench.key()))],
            [
              'renew()',
              () => store.renew?.([{ hold, ttl: bench.ms(30_000) }]) ?? Promise.reject(new Error('no renewal')),
            ],
            ...(given ? ([['abandon()', () => store.abandon(given.key, given.owner)]] satisfies typeof calls) : []),
            ['forceRelease()', () => store.forceRelease(bench.key())],
          ];
          const settled = await bench.within(
            10_000,
            Promise.allSettled(calls.map(([, call]) => call())),
            'all calls to settle',
          );
          const wrong = calls.filter((_, index) => {
            const result = settled[index];
            const unknown =
              result?.status === 'fulfilled' && Array.isArray(result.value) && result.value[0] === 'unknown';
            return result?.status === 'fulfilled' && !unknown;
          });
          assert.deepEqual(
            wrong.map(([call]) => call),
            [],
            'these claimed to know an outcome',
          );
          await end();
          await bench.eventually(
            async () => (await bench.attempt(store, bench.key()).catch(() => undefined)) !== undefined,
            'the store to recover',
            10_000,
          );
          // A lock that lives as long as its connection ends with it, and nobody keeps it from the next.
          const survives = outlivesConnections || fault === 'pauseServer';
          const taken = async (): Promise<boolean> => (await bench.isTaken(store, key)) === survives;
          await bench.eventually(taken, survives ? 'the lock to stand' : 'the lock to be free');
          assert.equal(await hold.release(), survives);
          if (given === undefined) return;
          await store.abandon(given.key, given.owner);
          assert.equal(await bench.isTaken(store, given.key), false);
        },
      );

      suite.faultTest(fault, `a waiter gets its key after ${name}`, async (bench, cause) => {
        const [a, b] = await bench.stores(2);
        const key = bench.key();
        const hold = await bench.take(a, key, { ttl: bench.ms(30_000) });
        const request = bench.request(key, { wait: true });
        const waiting = keepAsking(() => b.acquire(request));
        await bench.sleep(50);
        const end = await cause();
        await bench.sleep(300);
        await end();
        await bench.eventually(
          () =>
            hold.release().then(
              () => true,
              () => false,
            ),
          'a release to get through',
          10_000,
        );
        await bench.within(10_000, waiting, 'the waiter to be granted');
      });
    }

    suite.faultTest('breakConnections', 'a waiter survives the end of its connection', async (bench, cause) => {
      const [a, b] = await bench.stores(2);
      const key = bench.key();
      const hold = await bench.take(a, key, { ttl: bench.ms(30_000) });
      const request = bench.request(key, { wait: true });
      const waiting = keepAsking(() => b.acquire(request));
      await bench.sleep(50);
      await cause();
      await bench.eventually(
        () =>
          hold.release().then(
            () => true,
            () => false,
          ),
        'a release to get through',
        10_000,
      );
      await bench.within(10_000, waiting, 'the waiter to be granted');
    });
  });
}

/** As the engine does: the same owner asks again after an error. */
async function keepAsking<T>(ask: () => Promise<T>): Promise<T> {
  for (;;) {
    try {
      return await ask();
    } catch {
      await new Promise((resolve) => setTimeout(resolve, 50));
    }
  }
}
