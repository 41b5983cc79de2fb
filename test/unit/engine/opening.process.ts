// An application at its start, with a store that leaves nothing but timers that do not keep a process alive.
import { systemClock } from '../../../lib/contract/index.js';
import { LockEngine } from '../../../lib/engine/lock.engine.js';
import { memoryStore } from '../../../lib/stores/memory/index.js';

const store = Object.assign(memoryStore(), {
  open: () =>
    new Promise<void>((_, reject) => {
      systemClock.after(50, () => reject(new Error('nobody has connected the client')));
    }),
});
const engine = new LockEngine({ stores: new Map([['main', store]]), label: 'test', handOff: { max: 1, time: 1 } });
engine.open().catch((error: unknown) => console.log(String(error)));
