import assert from 'node:assert/strict';
import { once } from 'node:events';
import { LockErrorCode, isLockError } from '../../errors/index.js';
import type { ConformanceSuite } from './conformance.suite.js';

export function engineLeases(suite: ConformanceSuite): void {
  if (suite.guarantees.expiry !== 'lease') return;
  suite.group('leases through the engine', () => {
    suite.test('renewal holds a key for many times its lease, also after a long wait for it', async (bench) => {
      const [a, b, c] = await bench.processes(3);
      const key = bench.key();
      const ttl = bench.ms(300);
      const first = await a.acquire(key, { ttl });
      const waiting = b.acquire(key, { ttl });
      for (const process of [a, b]) {
        const hold = process === a ? first : await bench.soonDone(waiting, 'the second hold');
        for (let left = 9; left > 0; left -= 1) {
          await bench.sleep(100);
          assert.ok(hold.held);
          assert.ok(hold.remaining() > 0 && hold.remaining() <= ttl);
        }
        await assert.rejects(c.acquire(key, { wait: 0 }), { code: LockErrorCode.Contended });
        assert.equal(hold.signal.aborted, false);
        assert.equal(await hold.release(), true);
      }
      assert.deepEqual([...a.lost, ...b.lost], []);
    });

    suite.test('a key that was given to another owner is lost before the lease is over', async (bench) => {
      const process = await bench.process();
      const intruder = await bench.store();
      const key = bench.key();
      const ttl = bench.ms(1_000);
      const start = performance.now();
      const hold = await process.acquire(key, { ttl });
      const aborted = once(hold.signal, 'abort');
      await bench.sleep(200);
      await intruder.forceRelease(key);
      const other = await bench.take(intruder, key);
      await bench.soonDone(aborted, 'the signal');
      assert.ok(performance.now() - start <= ttl + 100, 'the signal came too late');
      assert.ok(isLockError(hold.signal.reason, LockErrorCode.Lost));
      assert.equal(hold.held, false);
      assert.throws(() => hold.throwIfLost(), { code: LockErrorCode.Lost });
      assert.equal(await hold.release(), false);
      await bench.sleep(100);
      assert.equal((await intruder.inspect(key))?.owner, other.owner);
      assert.equal(process.lost.length, 1);
    });

    suite.test("the body's own result or error is what comes out when the key has vanished", async (bench) => {
      const process = await bench.process();
      const store = await bench.store();
      const key = bench.key();
      const failure = new Error("the body's own");
      const vanish = () => store.forceRelease(key);
      assert.equal(await process.run(key, () => vanish().then(() => 1)), 1);
      assert.equal(process.lost.length, 1);
      const failed = process.run(key, () => vanish().then(() => Promise.reject(failure)));
      await assert.rejects(failed, (error) => error === failure);
      assert.equal(process.lost.length, 2);
    });

    suite.test("`onLost: 'throw'` makes the loss an error that carries the result", async (bench) => {
      const process = await bench.process();
      const store = await bench.store();
      const key = bench.key();
      const run = process.run(key, () => store.forceRelease(key).then(() => 'result'), { onLost: 'throw' });
      const error: unknown = await run.catch((reason: unknown) => reason);
      assert.ok(isLockError(error, LockErrorCode.Lost));
      assert.equal(error.result, 'result');
    });

    suite.test('code that was blocked past its lease finds out on its next line', async (bench) => {
      const [a, b] = await bench.processes(2);
      const key = bench.key();
      const ttl = bench.ms(200);
      const hold = await a.acquire(key, { ttl });
      block(ttl * 1.5);
      assert.equal(hold.held, false);
      assert.equal(hold.remaining(), 0);
      assert.throws(() => hold.throwIfLost(), { code: LockErrorCode.Lost });
      const next = await bench.soonDone(b.acquire(key), 'the next owner');
      assert.equal(await hold.release(), false);
      assert.ok(next.held);
      await bench.sleep(100);
      assert.ok(next.held);
      assert.equal(await next.release(), true);
    });
  });
}

function block(duration: number): void {
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, duration);
}
