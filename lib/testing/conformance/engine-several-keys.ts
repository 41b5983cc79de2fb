import assert from 'node:assert/strict';
import { LockErrorCode } from '../../errors/index.js';
import type { ConformanceSuite } from './conformance.suite.js';

export function engineSeveralKeys(suite: ConformanceSuite): void {
  suite.group('several keys through the engine', () => {
    suite.test('are taken once each and in one order, however they were given', async (bench) => {
      const process = await bench.process();
      const base = bench.key();
      const [a, b, c] = [`${base}:a`, `${base}:b`, `${base}:c`];
      const keys = await process.run([c, a, b, a, c], async (lock) => {
        for (const key of lock.keys) assert.notEqual(await process.store.inspect(key), undefined);
        return lock.keys;
      });
      assert.deepEqual(keys, [a, b, c]);
      assert.deepEqual(process.store.acquired, [a, b, c]);
      for (const key of keys) assert.equal(await process.store.inspect(key), undefined);
    });

    suite.test('are taken all or none, under one deadline', async (bench) => {
      const [holder, process, third] = await bench.processes(3);
      const base = bench.key();
      const keys = [`${base}:a`, `${base}:b`, `${base}:c`] as const;
      const slow = await holder.acquire(keys[1]);
      const last = await holder.acquire(keys[2]);
      const wait = bench.ms(400);
      const start = performance.now();
      const run = process.run(keys, () => assert.fail('the body ran'), { wait });
      await bench.sleep(200);
      await slow.release();
      await assert.rejects(run, { code: LockErrorCode.Contended });
      const waited = performance.now() - start;
      assert.ok(waited >= wait - 5 && waited < wait * 2 + 200, `waited ${waited} ms`);
      await bench.soonDone(
        third.run([keys[0], keys[1]], () => undefined),
        'the first keys to be free',
      );
      await last.release();
    });

    suite.test('are lost as one', async (bench) => {
      const process = await bench.process();
      const store = await bench.store();
      const keys = [bench.key(), bench.key()] as const;
      await process.run(
        keys,
        async (lock) => {
          await store.forceRelease(keys[1]);
          await bench.eventually(() => lock.signal.aborted, 'the signal');
          assert.equal(lock.held, false);
          assert.throws(() => lock.throwIfLost(), { code: LockErrorCode.Lost });
        },
        { ttl: bench.ms(600) },
      );
      assert.equal(await store.inspect(keys[0]), undefined);
      // Locks that share a session are lost with it, each by itself.
      const most = suite.guarantees.expiry === 'lease' ? 1 : keys.length;
      assert.ok(process.lost.length >= 1 && process.lost.length <= most, `${process.lost.length} losses`);
    });

    suite.test('that are asked for in opposite orders never block one another', async (bench) => {
      const processes = await bench.processes(2);
      const base = bench.key();
      const [a, b, c] = [`${base}:a`, `${base}:b`, `${base}:c`];
      const orders = [
        [a, b],
        [b, a],
        [c, a],
        [b, c],
      ];
      const inside = new Set<string>();
      let done = 0;
      const work = processes.flatMap((process) =>
        orders.map(async (keys) => {
          for (let round = 0; round < 20; round += 1) {
            await process.run(
              keys,
              async () => {
                for (const key of keys) assert.ok(!inside.has(key), `${key} is held twice`);
                for (const key of keys) inside.add(key);
                await new Promise(setImmediate);
                for (const key of keys) inside.delete(key);
                done += 1;
              },
              { wait: bench.ms(20_000) },
            );
          }
        }),
      );
      await bench.within(20_000, Promise.all(work), '160 rounds');
      assert.equal(done, 160);
    });

    if (suite.guarantees.fencing === 'global') {
      suite.test('have one token, larger than all that any of them had before', async (bench) => {
        const process = await bench.process();
        const keys = [bench.key(), bench.key()] as const;
        let last = 0n;
        for (let round = 0; round < 10; round += 1) {
          for (const asked of [keys, keys[round % 2] as string]) {
            const token = await process.run(asked, ({ fencingToken }) => fencingToken);
            assert.ok(token > last);
            last = token;
          }
        }
      });
    }
  });
}
