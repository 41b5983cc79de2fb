import assert from 'node:assert/strict';
import type { Hold } from '../../engine/hold.js';
import type { Bench } from './bench.js';
import type { ConformanceSuite } from './conformance.suite.js';
import { CountingClock } from './counting-clock.js';

const ROUNDS = 5;
const AT_ONCE = 200;

export function engineRenewal(suite: ConformanceSuite): void {
  if (suite.guarantees.expiry !== 'lease') return;
  suite.group('renewal through the engine', () => {
    suite.test('renews three or four times a lease at the most', async (bench) => {
      const process = await bench.process();
      const ttl = bench.ms(200);
      const hold = await process.acquire(bench.key(), { ttl });
      await bench.sleep(1_200);
      assert.ok(hold.held);
      assert.ok(process.store.renewals >= 6, `${process.store.renewals} renewals`);
      assert.ok(process.store.renewals <= 24, `${process.store.renewals} renewals`);
      await hold.release();
    });

    suite.test('stops with the hold', async (bench) => {
      const clock = new CountingClock();
      const process = await bench.process({ clock });
      const ttl = bench.ms(200);
      const hold = await process.acquire(bench.key(), { ttl });
      await bench.sleep(150);
      await hold.release();
      const { renewals } = process.store;
      await bench.sleep(400);
      assert.equal(process.store.renewals, renewals);
      assert.equal(clock.timers, 0);
    });

    suite.test('a thousand releases that race with a renewal are never a loss, and leave no timer', async (bench) => {
      const clock = new CountingClock();
      const process = await bench.process({ clock });
      const ttl = bench.ms(3_000);
      const raced = new Map<string, () => void>();
      const unanswered = new Set<string>();
      process.engine.events.on('releaseFailed', (event) => unanswered.add(event.key));
      // Half of the releases are sent just before the renewal, half just after it.
      process.store.onRenew = async (requests, renew) => {
        const races = requests.map(({ hold }) => raced.get(hold.key));
        races.forEach((race, index) => index % 2 === 0 && race?.());
        const renewing = renew(requests);
        races.forEach((race, index) => index % 2 === 1 && race?.());
        return renewing;
      };
      await bench.within(25_000, Promise.all(Array.from({ length: AT_ONCE }, race)), 'a thousand races');
      assert.ok(process.store.renewals >= ROUNDS * AT_ONCE);
      assert.deepEqual(process.lost, []);
      // The watchdog's timer may stand until the end of the last lease, and then finds nothing to do.
      await bench.eventually(() => clock.timers === 0, 'the timers to end', 6_000);

      async function race(): Promise<void> {
        const key = bench.key();
        for (let round = 0; round < ROUNDS; round += 1) {
          const hold = await process.acquire(key, { ttl });
          await renewalOf(hold, key);
        }
      }

      async function renewalOf(hold: Hold, key: string): Promise<void> {
        const released = await new Promise<boolean>((resolve, reject) => {
          raced.set(key, () => {
            raced.delete(key);
            hold.release().then(resolve, reject);
          });
        });
        // A machine under load may keep an answer for longer than the store waits: not known is not lost.
        assert.ok(released || unanswered.has(key), `the release of "${key}" found it lost`);
      }
    });

    suite.test('a renewal that was held up never takes back a key that changed hands meanwhile', async (bench) => {
      const [a, b] = await bench.processes(2);
      const key = bench.key();
      const ttl = bench.ms(300);
      let resume: () => void = () => undefined;
      const held = new Promise<void>((resolve) => (resume = resolve));
      let answered: Promise<unknown> | undefined;
      a.store.onRenew = async (requests, renew) => {
        await held;
        const outcomes = renew(requests);
        answered = outcomes;
        return outcomes;
      };
      const slow = await a.acquire(key, { ttl });
      const other = await bench.soonDone(b.acquire(key), 'the takeover');
      assert.equal(slow.held, false);
      assert.equal(await other.release(), true);
      resume();
      await bench.eventually(() => answered !== undefined, 'the renewal to be sent');
      assert.deepEqual(await answered, ['lost']);
      assert.equal(await b.store.inspect(key), undefined);
      assert.equal(slow.held, false);
      assert.equal(a.lost.length, 1);
    });

    suite.test('renewals without an answer are tried again until the lease is over, and no longer', async (bench) => {
      const process = await bench.process();
      const ttl = bench.ms(600);
      const hold = await process.acquire(bench.key(), { ttl });
      let failures = 0;
      process.store.onRenew = (requests, renew) => {
        failures += 1;
        return failures < 3 ? Promise.reject(new Error('no answer')) : renew(requests);
      };
      await bench.sleep(1_200);
      assert.ok(hold.held, 'two failures were enough to lose it');
      process.store.onRenew = async (requests) => requests.map(() => 'unknown' as const);
      const { validUntil } = hold.grant.storeHold;
      await bench.eventually(() => hold.signal.aborted, 'the loss');
      assert.ok(performance.now() >= validUntil);
      assert.ok(performance.now() - validUntil < ttl, 'the loss was noticed late');
    });

    suite.test('many holds are renewed together', async (bench) => {
      const process = await bench.process();
      const holds = await takeMany(bench, 50, (key) => process.acquire(key, { ttl: bench.ms(600) }));
      let batches = 0;
      process.store.onRenew = (requests, renew) => {
        batches += 1;
        return renew(requests);
      };
      await bench.sleep(1_200);
      assert.ok(holds.every(({ held }) => held));
      // 50 holds that are renewed about six times each.
      assert.ok(batches <= 75, `${batches} batches`);
      await Promise.all(holds.map((hold) => hold.release()));
    });
  });
}

function takeMany<T>(bench: Bench, count: number, take: (key: string) => Promise<T>): Promise<T[]> {
  return Promise.all(Array.from({ length: count }, () => take(bench.key())));
}
