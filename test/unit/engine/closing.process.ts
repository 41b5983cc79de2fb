// An application at its end, with a store that needs a while and leaves nothing but timers that do not keep a process alive.
import { systemClock } from '../../../lib/contract/index.js';
import { LockEngine } from '../../../lib/engine/lock.engine.js';
import { memoryStore } from '../../../lib/stores/memory/index.js';

const store = Object.assign(memoryStore(), {
  close: () => new Promise<void>((resolve) => void systemClock.after(50, resolve)),
});
const engine = new LockEngine({ stores: new Map([['main', store]]), label: 'test', handOff: { max: 1, time: 1 } });
await engine.open();
await engine.close(0);
console.log('what comes after it');
