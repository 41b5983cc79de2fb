import assert from 'node:assert/strict';
import { LockErrorCode, isLockError } from '../../errors/index.js';
import type { ConformanceSuite } from './conformance.suite.js';

export function engineClosing(suite: ConformanceSuite): void {
  suite.group('closing through the engine', () => {
    suite.test('an acquisition that is under way leaves nothing held', async (bench) => {
      const other = await bench.process();
      for (let round = 0; round < 10; round += 1) {
        const process = await bench.process();
        const key = bench.key();
        // Too early for a lock at first, then just in time for one that is cut short.
        const acquiring = process.acquire(key).catch((error: unknown) => {
          assert.ok(isLockError(error, LockErrorCode.Shutdown));
        });
        if (round % 2 === 1) await new Promise(setImmediate);
        await bench.within(5_000, process.engine.close(0), 'close()');
        await acquiring;
        await bench.soonDone(other.acquire(key), 'the key to be free');
      }
    });

    suite.test('a hand-over to a process that is closing leaves nothing held', async (bench) => {
      const other = await bench.process();
      for (let round = 0; round < 10; round += 1) {
        const process = await bench.process();
        const key = bench.key();
        const hold = await other.acquire(key);
        const waiting = process.acquire(key).then(
          (granted) => granted.release(),
          () => undefined,
        );
        await bench.eventually(async () => ((await other.store.inspect(key))?.waiters ?? 1) === 1, 'the waiter');
        const released = hold.release();
        if (round % 2 === 1) await released;
        await bench.within(5_000, process.engine.close(0), 'close()');
        await Promise.all([waiting, released]);
        await bench.soonDone(other.acquire(key), 'the key to be free');
      }
    });

    suite.test('running bodies keep their locks until they are done, and those who wait are refused', async (bench) => {
      const [process, other] = await bench.processes(2);
      const key = bench.key();
      const body = process.run(key, async (lock) => {
        await bench.sleep(300);
        assert.ok(lock.held);
        return 'done';
      });
      await bench.eventually(() => process.engine.holds.size === 1, 'the body to run');
      const waiting = assert.rejects(process.acquire(key), { code: LockErrorCode.Shutdown });
      const closing = process.engine.close(bench.ms(5_000));
      await bench.soonDone(waiting, 'the refusal');
      assert.equal(await body, 'done');
      await bench.soonDone(closing, 'close()');
      await bench.soonDone(other.acquire(key), 'the key to be free');
    });

    suite.test('a body that outlasts the shutdown timeout is told, and its key is free', async (bench) => {
      const [process, other] = await bench.processes(2);
      const key = bench.key();
      const hold = await process.acquire(key);
      const { signal } = hold;
      await bench.soonDone(process.engine.close(bench.ms(100)), 'close()');
      assert.ok(signal.aborted);
      assert.equal(hold.held, false);
      await bench.soonDone(other.acquire(key), 'the key to be free');
      assert.equal(await hold.release(), false);
    });
  });
}
