import { afterEach, expect, it } from '@jest/globals';
import { setTimeout as sleep } from 'node:timers/promises';
import type { LockStore } from '../../../lib/contract/index.js';
import { memoryStore } from '../../../lib/stores/memory/index.js';
import { TestEngine } from '../../support/test-engine.js';

/** A store that is well, and 40 ms away. */
function distant(): LockStore {
  const store = memoryStore();
  const acquire = store.acquire.bind(store);
  return Object.assign(store, {
    acquire: async (request: Parameters<typeof acquire>[0]) => {
      await sleep(40);
      return acquire(request);
    },
  });
}

let process: TestEngine;
afterEach(() => process.close());

it('reports a wait that was spent behind callers of its own process as contended, also while the store is just being asked', async () => {
  process = new TestEngine(distant());
  const holding = await process.acquire('k', { handOff: false });
  const waiting = process.acquire('k', { wait: 100 });
  // Most of the wait is spent in the local queue; when it is over, the store has been asked for 20 ms.
  setTimeout(() => void holding.release(), 80);
  await expect(waiting).rejects.toMatchObject({ code: 'LOCK_CONTENDED' });
});
