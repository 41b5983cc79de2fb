// One process of a fleet: does with its own store what its parent asks for. See sqlite.fleet.ts.
import { randomBytes } from 'node:crypto';
import { readFileSync, writeFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import type { AcquireRequest, StoreHold } from '../../../lib/contract/index.js';
import { sqliteStore, type SqliteStoreOptions } from '../../../lib/stores/sqlite/index.js';
import type { RaceOptions, Turn } from './sqlite.fleet.js';

const store = sqliteStore(JSON.parse(process.argv[2] ?? '{}') as SqliteStoreOptions);
const holds = new Map<string, StoreHold>();
const waits = new Map<string, AbortController>();

// One clock for all processes of the host, in ms.
const now = () => Number(process.hrtime.bigint() / 1000n) / 1000;

function request(key: string, ttl: number, wait: boolean, signal: AbortSignal): AcquireRequest {
  const owner = randomBytes(16).toString('hex');
  const label = `worker:${process.pid}`;
  return { key, owner, label, ttl, wait, signal, mode: { kind: 'exclusive' }, onStatus: () => undefined };
}

const commands = {
  open: async () => {
    await store.open();
    return process.versions.node;
  },

  async acquire(key: string, { ttl = 30_000, wait = true } = {}) {
    const controller = new AbortController();
    waits.set(key, controller);
    const result = await store.acquire(request(key, ttl, wait, controller.signal));
    if (!result.acquired) return { acquired: false, holder: result.holder?.label };
    holds.set(key, result.hold);
    return {
      acquired: true,
      fence: Number(result.hold.fence),
      left: result.hold.validUntil - performance.now(),
      at: now(),
    };
  },

  async stopWaiting(key: string) {
    waits.get(key)?.abort();
  },

  release: async (key: string) => holds.get(key)?.release(),

  renew: async (key: string, ttl: number) => (await store.renew!([{ hold: holds.get(key)!, ttl }]))[0],

  async inspect(key: string) {
    const seen = await store.inspect(key);
    return seen && { ...seen, fence: Number(seen.fence) };
  },

  /** Takes the key again and again and adds 1 to a number in a file, reading and writing apart from one another. */
  async race({ key, counter, times, hold, pause, ttl = 30_000 }: RaceOptions): Promise<Turn[]> {
    const turns: Turn[] = [];
    for (let turn = 0; turn < times; turn += 1) {
      const asked = now();
      const result = await store.acquire(request(key, ttl, true, new AbortController().signal));
      if (!result.acquired) throw new Error('refused although it waits');
      const acquired = now();
      const count = Number(readFileSync(counter, 'utf8'));
      if (hold > 0) await sleep(hold);
      else await new Promise(setImmediate);
      writeFileSync(counter, String(count + 1));
      const released = now();
      if (!(await result.hold.release())) throw new Error('lost its lock');
      turns.push({ fence: Number(result.hold.fence), asked, acquired, released });
      if (pause > 0) await sleep(pause);
    }
    return turns;
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
process.send?.({ ready: true });
