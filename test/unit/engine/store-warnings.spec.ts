import { expect, it, jest } from '@jest/globals';
import type { Logger } from '@nestjs/common';
import { LockEngine } from '../../../lib/engine/lock.engine.js';
import { logLockEvents } from '../../../lib/observability/lock.logger.js';
import { memoryStore } from '../../../lib/stores/memory/index.js';

it('what a store warns of when it is opened is told, and logged', async () => {
  const store = Object.assign(memoryStore(), { warnings: ['it forgets', 'it is slow'] });
  const engine = new LockEngine({ stores: new Map([['main', store]]), label: 'test', handOff: { max: 1, time: 1 } });
  const heard: unknown[] = [];
  engine.events.on('storeWarning', (event) => heard.push(event));
  const warn = jest.fn();
  logLockEvents(engine.events, { warn, error: warn } as unknown as Logger);
  await engine.open();
  expect(heard).toEqual([
    { store: 'main', warning: 'it forgets' },
    { store: 'main', warning: 'it is slow' },
  ]);
  expect(warn.mock.calls).toEqual([['The store "main": it forgets'], ['The store "main": it is slow']]);
  await engine.close(0);
});
