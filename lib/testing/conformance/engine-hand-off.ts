import assert from 'node:assert/strict';
import * as clock from 'node:process';
import { createHistoryChecker } from '../history-checker.js';
import type { ConformanceSuite } from './conformance.suite.js';

export function engineHandOff(suite: ConformanceSuite): void {
  suite.group('hand-off through the engine', () => {
    suite.test('processes and their callers take turns without overlap, with increasing tokens', async (bench) => {
      const processes = await bench.processes(3);
      const key = bench.key();
      const history = createHistoryChecker();
      let holds = 0;
      const work = processes.flatMap((process, number) =>
        Array.from({ length: 5 }, async (_, caller) => {
          for (let round = 0; round < 20; round += 1) {
            const hold = await process.acquire(key, { wait: bench.ms(20_000) });
            // A store without tokens is checked for overlap only.
            const token = suite.guarantees.fencing === 'none' ? BigInt((holds += 1)) : hold.fencingToken;
            const event = { process: `${number}:${caller}`, key, token };
            history.record({ ...event, type: 'acquired', at: clock.hrtime.bigint() });
            await new Promise(setImmediate);
            assert.ok(hold.held);
            history.record({ ...event, type: 'released', at: clock.hrtime.bigint() });
            assert.equal(await hold.release(), true);
          }
        }),
      );
      await bench.within(20_000, Promise.all(work), '300 holds');
      const report = history.check();
      assert.equal(report.holds.length, 300);
      assert.deepEqual(report.overlaps, []);
      assert.deepEqual(report.fenceViolations, []);
    });

    suite.test('a lease is handed on within the process, and each caller gets a larger token', async (bench) => {
      const process = await bench.process({ handOff: { max: 50, time: bench.ms(10_000) } });
      const key = bench.key();
      const tokens: bigint[] = [];
      const callers = Array.from({ length: 20 }, () =>
        process.run(key, (lock) => {
          if (suite.guarantees.fencing !== 'none') tokens.push(lock.fencingToken);
        }),
      );
      await bench.soonDone(Promise.all(callers), 'twenty holds');
      assert.equal(process.store.acquired.length, 1);
      assert.deepEqual(
        tokens,
        [...new Set(tokens)].sort((a, b) => (a < b ? -1 : 1)),
      );
    });

    suite.test('other processes get their turn before a busy process has served its own callers', async (bench) => {
      const busy = await bench.process({ handOff: { max: 4, time: bench.ms(10_000) } });
      const other = await bench.process();
      const key = bench.key();
      let served = 0;
      const callers = Array.from({ length: 60 }, () =>
        busy.run(
          key,
          async () => {
            served += 1;
            await bench.sleep(5);
          },
          { wait: bench.ms(20_000) },
        ),
      );
      await bench.eventually(() => served > 0, 'the first caller');
      const hold = await bench.within(
        10_000,
        other.acquire(key, { wait: bench.ms(20_000) }),
        'the other process to be served',
      );
      if (suite.guarantees.fifo) assert.ok(served < 30, `${served} of 60 were served first`);
      await hold.release();
      await bench.within(20_000, Promise.all(callers), 'all callers');
    });

    suite.test('what another process does to a handed-on lease is noticed', async (bench) => {
      const process = await bench.process({ handOff: { max: 50, time: bench.ms(10_000) } });
      const key = bench.key();
      const ttl = bench.ms(500);
      const first = await process.acquire(key, { ttl });
      const waiting = process.acquire(key, { ttl });
      await first.release();
      const second = await bench.soonDone(waiting, 'the hand-off');
      const start = performance.now();
      assert.equal(await (await bench.store()).forceRelease(key), true);
      await bench.eventually(() => !second.held, 'the loss to be noticed');
      assert.ok(performance.now() - start < ttl + 200);
      assert.equal(await second.release(), false);
      assert.equal(process.lost.length, 1);
    });
  });
}
