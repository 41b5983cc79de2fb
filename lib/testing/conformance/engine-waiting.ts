import assert from 'node:assert/strict';
import { LockErrorCode, isLockError, type LockContendedError } from '../../errors/index.js';
import type { Hold } from '../../engine/hold.js';
import type { Bench } from './bench.js';
import type { ConformanceSuite } from './conformance.suite.js';
import type { EngineProcess } from './engine-process.js';

export function engineWaiting(suite: ConformanceSuite): void {
  suite.group('waiting through the engine', () => {
    suite.test('`wait: 0` takes a free key with one try', async (bench) => {
      const process = await bench.process();
      for (let round = 1; round <= 5; round += 1) {
        const hold = await process.acquire(bench.key(), { wait: 0 });
        assert.equal(process.store.acquired.length, round);
        assert.equal(await hold.release(), true);
      }
    });

    suite.test('`wait: 0` is refused a key that is held, at once, and told by whom', async (bench) => {
      const [a] = [await bench.process({ label: 'holder:1' })];
      const b = await bench.process();
      const key = bench.key();
      await a.acquire(key);
      const error = await bench.soonDone(contended(b.acquire(key, { wait: 0 })), 'the refusal');
      assert.equal(error.key, key);
      assert.equal(error.holder ?? 'holder:1', 'holder:1');
      assert.equal(b.store.acquired.length, 1);
      await bench.soonDone(contended(a.acquire(key, { wait: 0 })), 'the refusal in the same process');
    });

    suite.test('a wait lasts as long as it was asked for, no less and not much more', async (bench) => {
      const [a, b] = await bench.processes(2);
      const key = bench.key();
      await a.acquire(key);
      const wait = bench.ms(300);
      for (const process of [a, b]) {
        const start = performance.now();
        const error = await bench.soonDone(contended(process.acquire(key, { wait })), 'the wait to run out');
        const waited = performance.now() - start;
        assert.ok(waited >= wait - 5, `waited ${waited} ms`);
        assert.ok(waited < wait * 3 + 200, `waited ${waited} ms`);
        assert.ok(Math.abs(error.waited - waited) < wait);
      }
    });

    suite.test('whoever comes right after a wait that ran out is contended, never told of an outage', async (bench) => {
      const [a, b] = await bench.processes(2);
      const key = bench.key();
      await a.acquire(key);
      for (let round = 0; round < 5; round += 1) {
        await bench.soonDone(contended(b.acquire(key, { wait: bench.ms(600) })), 'the wait to run out');
        await bench.soonDone(contended(b.acquire(key, { wait: 0 })), 'the one try after it');
        const impatient = b.acquire(key, { signal: AbortSignal.timeout(bench.ms(300)) });
        await assert.rejects(impatient, { name: 'TimeoutError' });
        await bench.soonDone(contended(b.acquire(key, { wait: 0 })), 'the one try after an abort');
      }
    });

    suite.test('an endless wait ends with the key', async (bench) => {
      const [a, b] = await bench.processes(2);
      const key = bench.key();
      const first = await a.acquire(key);
      const waiting = b.acquire(key, { wait: Infinity });
      await bench.sleep(300);
      assert.equal(await first.release(), true);
      const second = await bench.soonDone(waiting, 'the key');
      assert.ok(second.held);
    });

    suite.test('a wait that ran out leaves no place in the queue', async (bench) => {
      const [a, b, c] = await bench.processes(3);
      const key = bench.key();
      const hold = await a.acquire(key);
      await contended(b.acquire(key, { wait: bench.ms(500) }));
      await bench.eventually(async () => ((await a.store.inspect(key))?.waiters ?? 0) === 0, 'the queue to be empty');
      assert.equal(await hold.release(), true);
      await bench.soonDone(c.acquire(key, { wait: bench.ms(1_000) }), 'the key');
    });

    for (const [place, index] of [
      ['front', 0],
      ['middle', 1],
      ['back', 2],
    ] as const) {
      suite.test(`an abort at the ${place} of the processes that wait leaves the others their order`, async (bench) => {
        const [holder, ...others] = await bench.processes(4);
        await abortOne(suite, bench, holder, others, index);
      });

      suite.test(
        `an abort at the ${place} of the callers of one process leaves the others their order`,
        async (bench) => {
          const [holder, other] = await bench.processes(2);
          await abortOne(suite, bench, holder, [other, other, other], index);
        },
      );
    }

    suite.test('a signal that has aborted already costs the store nothing', async (bench) => {
      const process = await bench.process();
      const reason = new Error('gone already');
      await assert.rejects(
        process.acquire(bench.key(), { signal: AbortSignal.abort(reason) }),
        (error) => error === reason,
      );
      assert.equal(process.store.acquired.length, 0);
    });

    suite.test('a hundred callers of one process are one waiter to the store, and never overlap', async (bench) => {
      const [a, b] = await bench.processes(2);
      const key = bench.key();
      const first = await a.acquire(key);
      let holders = 0;
      const callers = Array.from({ length: 100 }, () =>
        b.run(
          key,
          async () => {
            assert.equal((holders += 1), 1);
            await new Promise(setImmediate);
            holders -= 1;
          },
          { wait: bench.ms(20_000) },
        ),
      );
      await bench.eventually(async () => ((await a.store.inspect(key))?.waiters ?? 1) === 1, 'one waiter');
      await bench.sleep(100);
      assert.equal((await a.store.inspect(key))?.waiters ?? 1, 1);
      assert.equal(b.store.acquired.length, 1);
      assert.equal(await first.release(), true);
      await bench.within(20_000, Promise.all(callers), 'a hundred holds');
      assert.equal(b.lost.length, 0);
    });
  });
}

async function contended(acquiring: Promise<unknown>): Promise<LockContendedError> {
  const error: unknown = await acquiring.then(
    () => assert.fail('the key should have been contended'),
    (reason: unknown) => reason,
  );
  assert.ok(isLockError(error, LockErrorCode.Contended), `should be contended, is ${String(error)}`);
  return error;
}

async function abortOne(
  suite: ConformanceSuite,
  bench: Bench,
  holder: EngineProcess,
  others: readonly EngineProcess[],
  index: number,
): Promise<void> {
  const key = bench.key();
  const first = await holder.acquire(key);
  const controllers = others.map(() => new AbortController());
  const order: number[] = [];
  const waiting: Promise<void>[] = [];
  for (const [place, process] of others.entries()) {
    const signal = controllers[place]?.signal;
    waiting.push(process.acquire(key, { signal }).then((hold) => leave(hold, place)));
    // One after the other, so that the order in the store is known.
    await bench.eventually(async () => {
      const seen = await holder.store.inspect(key);
      const local = process.waiters(key) === others.slice(0, place + 1).filter((other) => other === process).length;
      return local && (seen?.waiters ?? place + 1) >= new Set(others.slice(0, place + 1)).size;
    }, 'the waiter to stand in the queue');
  }
  const reason = new Error('nobody waits any more');
  controllers[index]?.abort(reason);
  await assert.rejects(waiting[index] as Promise<void>, (error) => error === reason);
  assert.equal(await first.release(), true);
  const rest = waiting.filter((_, place) => place !== index);
  await bench.within(5_000, Promise.all(rest), 'the others to be granted');
  if (suite.guarantees.fifo)
    assert.deepEqual(
      order,
      [0, 1, 2].filter((place) => place !== index),
    );

  async function leave(hold: Hold, place: number): Promise<void> {
    order.push(place);
    assert.equal(await hold.release(), true);
  }
}
