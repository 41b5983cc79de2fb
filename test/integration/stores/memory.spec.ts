import assert from 'node:assert/strict';
import { test } from '@jest/globals';
import { memoryStore } from '../../../lib/stores/memory/index.js';
import { storeConformance } from '../../../lib/testing/index.js';
import { memoryProcess } from '../../support/memory-process.js';

const shared = memoryStore();

storeConformance('memory', {
  createStore: () => memoryProcess(shared),
  guarantees: {
    ownership: true,
    fencing: 'global',
    survivesFailover: false,
    fifo: true,
    reach: 'process',
    expiry: 'lease',
    wakeUp: 'push',
  },
  hooks: {
    pauseServer: 'not applicable: it runs in the process that asks it',
    refuseConnections: 'not applicable: there is no connection',
    breakConnections: 'not applicable: there is no connection',
    dropReplies: 'not applicable: an answer cannot be lost within a process',
    loseData: 'not applicable: the data end with the process, and every holder with them',
  },
});

test('closing a memory store ends every wait with an error, and may be repeated', async () => {
  const store = memoryStore();
  const request = {
    key: 'key',
    label: '',
    mode: { kind: 'exclusive' },
    ttl: 10_000,
    onStatus: () => undefined,
  } as const;
  const { signal } = new AbortController();
  await store.acquire({ ...request, owner: 'a'.repeat(32), wait: false, signal });
  const waiting = assert.rejects(store.acquire({ ...request, owner: 'b'.repeat(32), wait: true, signal }));
  await store.close();
  await store.close();
  await waiting;
});
