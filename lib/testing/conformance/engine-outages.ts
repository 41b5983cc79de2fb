import assert from 'node:assert/strict';
import { once } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';
import { LockErrorCode, isLockError } from '../../errors/index.js';
import type { ConformanceHooks } from './conformance.hooks.js';
import type { ConformanceSuite } from './conformance.suite.js';

const OUTAGES = [
  ['pauseServer', 'a server that does not answer'],
  ['refuseConnections', 'a server that cannot be reached'],
] as const satisfies readonly (readonly [keyof ConformanceHooks, string])[];

export function engineOutages(suite: ConformanceSuite): void {
  suite.group('outages through the engine', () => {
    for (const [fault, name] of OUTAGES) {
      if (suite.guarantees.expiry !== 'connection') {
        suite.faultTest(fault, `${name} costs a holder its lock no later than its lease`, async (bench, cause) => {
          const process = await bench.process();
          const key = bench.key();
          const ttl = bench.lease;
          let over = false;
          const hold = await process.acquire(key, { ttl });
          // Fires in its turn, however late a busy machine runs its timers: what was due before it has run.
          const lease = setTimeout(() => (over = true), ttl);
          const aborted = once(hold.signal, 'abort').then(() => over);
          const end = await cause();
          assert.equal(
            await bench.soonDone(aborted, 'the signal'),
            false,
            'the signal came after the end of the lease',
          );
          clearTimeout(lease);
          assert.equal(hold.held, false);
          assert.equal(await bench.soonDone(hold.release(), 'release()'), false);
          await end();
          await bench.within(10_000, process.acquire(key, { wait: bench.ms(10_000) }), 'the store to recover');
        });

        suite.faultTest(fault, `${name} for a part of the lease costs nothing`, async (bench, cause) => {
          const process = await bench.process();
          // Clients look for a server that was gone once a second or more seldom.
          const hold = await process.acquire(bench.key(), { ttl: 2.6 * bench.lease });
          const end = await cause();
          await sleep(0.5 * bench.lease);
          await end();
          await sleep(2.2 * bench.lease);
          assert.ok(hold.held);
          assert.equal(await hold.release(), true);
          assert.deepEqual(process.lost, []);
        });
      }

      suite.faultTest(
        fault,
        `${name} is reported as unavailable within the wait, never as contended`,
        async (bench, cause) => {
          const process = await bench.process();
          await (await process.acquire(bench.key())).release();
          const end = await cause();
          for (const wait of [0, bench.ms(600)]) {
            const start = performance.now();
            const skipped = process.run(bench.key(), () => 'body', { wait, onContended: () => 'skipped' });
            const error = await bench.within(5_000, unavailable(skipped), 'the wait to run out');
            const waited = performance.now() - start;
            // What waiting cannot mend ends a wait at once.
            const retryable = (error.cause as { retryable?: boolean } | undefined)?.retryable ?? true;
            assert.ok(wait === 0 || !retryable || waited >= wait - 5, `waited ${waited} ms`);
            assert.ok(wait === 0 || waited < wait * 2, `waited ${waited} ms`);
          }
          await end();
          const ran = process.run(bench.key(), () => 'body', { wait: bench.ms(10_000) });
          assert.equal(await bench.within(10_000, ran, 'the store to recover'), 'body');
        },
      );

      suite.faultTest(fault, `a process that starts with ${name} works once there is one`, async (bench, cause) => {
        const process = await bench.process({ open: false });
        const end = await cause();
        const wait = bench.ms(500);
        const refused = assert.rejects(process.acquire(bench.key(), { wait }), { code: LockErrorCode.Unavailable });
        await bench.soonDone(refused, 'the wait to run out');
        await end();
        await bench.within(10_000, process.acquire(bench.key(), { wait: bench.ms(10_000) }), 'the first lock');
      });

      suite.faultTest(fault, `a release without an answer from ${name} is made up for`, async (bench, cause) => {
        const [a, b] = await bench.processes(2);
        const key = bench.key();
        const hold = await a.acquire(key, { ttl: bench.ms(20_000) });
        const end = await cause();
        assert.equal(await bench.within(5_000, hold.release(), 'release()'), false);
        assert.deepEqual(a.lost, []);
        await end();
        await bench.within(
          8_000,
          b.acquire(key, { wait: bench.ms(8_000) }),
          'the key to be free long before its lease ends',
        );
      });
    }

    suite.faultTest(
      'dropReplies',
      'a win whose answer was lost is given back, or found, long before its lease ends',
      async (bench, cause) => {
        const [a, b] = await bench.processes(2);
        const key = bench.key();
        const heal = await cause();
        const lost = a.acquire(key, { ttl: bench.ms(20_000), wait: bench.ms(500) });
        await assert.rejects(bench.soonDone(lost, 'the wait to run out'), { code: LockErrorCode.Unavailable });
        await heal();
        await bench.within(8_000, b.acquire(key, { wait: bench.ms(8_000) }), 'the key to be free');
      },
    );

    suite.faultTest('dropReplies', 'a caller who still waits finds its win', async (bench, cause) => {
      const process = await bench.process();
      const key = bench.key();
      const heal = await cause();
      const waiting = process.acquire(key, { ttl: bench.ms(20_000), wait: Infinity });
      await bench.sleep(200);
      await heal();
      const hold = await bench.within(8_000, waiting, 'the win to be found');
      assert.ok(hold.held);
      assert.equal(await hold.release(), true);
    });

    if (suite.guarantees.expiry === 'connection') {
      suite.faultTest(
        'breakConnections',
        'the end of its session is told to a holder at once, and costs those who wait nothing',
        async (bench, cause) => {
          const [a, b, c] = await bench.processes(3);
          const key = bench.key();
          const hold = await a.acquire(key, { ttl: bench.ms(20_000) });
          const { signal } = hold;
          const waiting = [b, c].map((process) => process.run(key, () => bench.sleep(20), { wait: Infinity }));
          await bench.sleep(200);
          await cause();
          await bench.eventually(() => signal.aborted, 'the signal', 1_000);
          assert.ok(isLockError(signal.reason, LockErrorCode.Lost));
          assert.equal(hold.held, false);
          await bench.within(8_000, Promise.all(waiting), 'both waiters');
          assert.equal(await hold.release(), false);
          await (await bench.soonDone(a.acquire(key), 'the key to be free')).release();
        },
      );
      return;
    }

    suite.faultTest(
      'breakConnections',
      'the end of all connections costs neither a hold nor a place in the queue',
      async (bench, cause) => {
        const [a, b, c] = await bench.processes(3);
        const key = bench.key();
        const hold = await a.acquire(key, { ttl: 3 * bench.lease });
        const order: string[] = [];
        const waiting = [b.acquire(key, { wait: Infinity }).then((next) => leave('b', next))];
        await bench.sleep(100);
        waiting.push(c.acquire(key, { wait: Infinity }).then((next) => leave('c', next)));
        await bench.sleep(100);
        for (let round = 0; round < 3; round += 1) {
          await cause();
          await bench.sleep(300);
        }
        // A process that is away when its turn comes is passed over: the places count once all are back.
        await bench.sleep(1_000);
        assert.ok(hold.held);
        await hold.release();
        await bench.within(8_000, Promise.all(waiting), 'both waiters');
        if (suite.guarantees.fifo) assert.deepEqual(order, ['b', 'c']);

        async function leave(name: string, next: { release(): Promise<boolean> }): Promise<void> {
          order.push(name);
          await next.release();
        }
      },
    );
  });
}

async function unavailable(running: Promise<unknown>): Promise<Error> {
  const error: unknown = await running.then(
    (result) => assert.fail(`should have failed, gave ${String(result)}`),
    (reason: unknown) => reason,
  );
  assert.ok(isLockError(error, LockErrorCode.Unavailable), `should be unavailable, is ${String(error)}`);
  return error;
}
