// One process of a fleet: does with its own engine what its parent asks for. See postgres.fleet.ts.
import { setTimeout as sleep } from 'node:timers/promises';
import { LockEngine } from '../../../lib/engine/lock.engine.js';
import type { Hold } from '../../../lib/engine/hold.js';
import { postgresSettings } from '../../../lib/stores/postgres/postgres.options.js';
import { storeOf } from '../../../lib/stores/postgres/postgres.store.js';
import type { Start, Turn } from './postgres.fleet.js';

const { url, mode, keepAlive, silence } = JSON.parse(process.argv[2] ?? '{}') as Start;
const settings = postgresSettings({ connection: url, mode, keepAlive });
const store = storeOf({ ...settings, silence: silence ?? settings.silence });
const engine = new LockEngine({
  stores: new Map([['default', store]]),
  label: `worker:${process.pid}`,
  handOff: { max: 16, time: 50 },
});
const backend = engine.backend('default', 'worker');
const rest = { renew: true, wait: Infinity, maxHold: Infinity, minHold: 0, maxWaiters: Infinity, handOff: true };

// One clock for all processes of the host, in ms.
const now = () => Number(process.hrtime.bigint() / 1000n) / 1000;

let last: Hold | undefined;

const commands = {
  async hold(key: string, ttl: number): Promise<string> {
    last = await engine.acquire(backend, { ...rest, key, ttl });
    return String(last.fencingToken);
  },

  async holds(): Promise<boolean> {
    return last?.held ?? false;
  },

  async crowd(key: string, callers: number, duration: number): Promise<Turn[]> {
    const call = async (): Promise<Turn> => {
      const asked = now();
      const hold = await engine.acquire(backend, { ...rest, key, ttl: 10_000 });
      const acquired = now();
      await sleep(duration);
      const released = now();
      if (!(await hold.release())) throw new Error('lost its lock');
      return { process: process.pid, token: String(hold.fencingToken), asked, acquired, released };
    };
    return Promise.all(Array.from({ length: callers }, call));
  },
};

interface Call {
  readonly id: number;
  readonly command: keyof typeof commands;
  readonly args: readonly unknown[];
}

process.on('message', ({ id, command, args }: Call) => {
  const work = commands[command] as (...values: readonly unknown[]) => Promise<unknown>;
  work(...args).then(
    (value) => process.send?.({ id, value }),
    (error: unknown) => process.send?.({ id, error: String(error) }),
  );
});
await engine.open();
process.send?.({ ready: true });
