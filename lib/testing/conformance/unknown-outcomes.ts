import assert from 'node:assert/strict';
import { ownerToken } from '../../engine/owner-token.js';
import { assertHolder } from './assert-holder.js';
import type { ConformanceSuite } from './conformance.suite.js';

export function unknownOutcomes(suite: ConformanceSuite): void {
  suite.group('unknown outcomes', () => {
    suite.faultTest(
      'dropReplies',
      'a key that was won without hearing of it is freed by abandoning it',
      async (bench, cause) => {
        const [a, b] = await bench.stores(2);
        const key = bench.key();
        const owner = ownerToken();
        const heal = await cause();
        await bench.within(10_000, assert.rejects(a.acquire(bench.request(key, { owner }))), 'acquire() to give up');
        await heal();
        await bench.eventually(() => abandoned(a.abandon(key, owner)), 'abandon() to get through', 10_000);
        await bench.take(b, key);
      },
    );

    suite.faultTest('dropReplies', 'the same owner finds a win whose answer was lost', async (bench, cause) => {
      const [a, b] = await bench.stores(2);
      const key = bench.key();
      const owner = ownerToken();
      const heal = await cause();
      await bench.within(10_000, assert.rejects(a.acquire(bench.request(key, { owner }))), 'acquire() to give up');
      await heal();
      await bench.eventually(
        async () => (await bench.attempt(a, key, { owner }).catch(() => undefined)) !== undefined,
        'the win to be found',
        10_000,
      );
      assert.equal(await bench.isTaken(b, key), true);
      assertHolder(await b.inspect(key), owner);
    });

    suite.faultTest(
      'dropReplies',
      'a release without an answer rejects, and never claims an outcome',
      async (bench, cause) => {
        const [a, b] = await bench.stores(2);
        const key = bench.key();
        const hold = await bench.take(a, key);
        const heal = await cause();
        await bench.within(10_000, assert.rejects(hold.release()), 'release() to give up');
        await heal();
        await bench.eventually(() => abandoned(a.abandon(key, hold.owner)), 'abandon() to get through', 10_000);
        await bench.eventually(
          () =>
            bench.isTaken(b, key).then(
              (taken) => !taken,
              () => false,
            ),
          'the key to be free',
        );
      },
    );

    // A session store has no renewal: its session's sign of life is its own affair.
    if (suite.guarantees.expiry !== 'lease') return;

    suite.faultTest(
      'dropReplies',
      'a renewal without an answer is unknown, neither lost nor renewed',
      async (bench, cause) => {
        const store = await bench.store();
        const hold = await bench.take(store, bench.key(), { ttl: bench.ms(20_000) });
        const { validUntil } = hold;
        const heal = await cause();
        const outcome = await bench.within(10_000, renewOnce(), 'renew() to give up');
        assert.equal(outcome, 'unknown');
        assert.equal(hold.validUntil, validUntil);
        await heal();
        await bench.eventually(async () => (await renewOnce()) === 'renewed', 'a renewal to get through', 10_000);

        async function renewOnce(): Promise<string | undefined> {
          const outcomes = await store.renew?.([{ hold, ttl: bench.ms(20_000) }]).catch(() => ['unknown']);
          return outcomes?.[0];
        }
      },
    );
  });
}

function abandoned(attempt: Promise<void>): Promise<boolean> {
  return attempt.then(
    () => true,
    () => false,
  );
}
