import { expect, it } from '@jest/globals';
import type { StoreGuarantees } from '../../../lib/contract/index.js';
import { Backend } from '../../../lib/engine/backend.js';
import { Cleaner } from '../../../lib/engine/cleaner.js';
import { memoryStore } from '../../../lib/stores/memory/index.js';
import { manualClock } from '../../../lib/testing/index.js';

/** How often a store was asked that never answers, in 20 s, for an owner whose ttl was 1 s. */
async function tries(expiry: StoreGuarantees['expiry']): Promise<{ early: number; late: number }> {
  const store = memoryStore();
  let asked = 0;
  Object.defineProperty(store, 'guarantees', { value: { ...store.guarantees, expiry } });
  store.abandon = () => {
    asked += 1;
    return Promise.reject(new Error('no answer'));
  };
  const clock = manualClock();
  new Cleaner(clock).abandon(new Backend('default', store), 'k', 'owner', 1_000);
  await clock.advance(5_000);
  const early = asked;
  await clock.advance(15_000);
  return { early, late: asked - early };
}

it('stops asking for a lease that has run out by itself', async () => {
  const { early, late } = await tries('lease');
  expect(early).toBeGreaterThan(3);
  expect(late).toBe(0);
});

it('goes on asking where nothing runs out as long as the session lives', async () => {
  expect((await tries('session')).late).toBeGreaterThan(3);
});
