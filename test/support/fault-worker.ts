// One process of a fault test: takes and gives back locks as its parent asks, and writes down what happens.
import { openSync, writeSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { LockEngine } from '../../lib/engine/lock.engine.js';
import type { Hold } from '../../lib/engine/hold.js';
import { isLockError } from '../../lib/errors/index.js';
import type { HistoryEvent } from '../../lib/testing/index.js';
import { answerCalls } from './answer-calls.js';
import { openStore, type HammerOptions, type WorkerConfig, type WorkerReport } from './fault-worker.config.js';

const config = JSON.parse(process.argv[2]!) as WorkerConfig;
const label = `worker:${process.pid}`;
const handOff = { max: 16, time: 50 };
const stores = new Map([['default', await openStore(config.store)]]);
const engine = new LockEngine({ stores, label, handOff });
const backend = engine.backend('default', 'worker');
const file = openSync(config.history, 'a');

const NEVER = { maxHold: Infinity, minHold: 0, maxWaiters: Infinity, handOff: true, renew: true };
// What performance.now() has to be given to become process.hrtime(): both run on the host's monotonic clock.
const origin = Number(process.hrtime.bigint()) - performance.now() * 1e6;

function write(type: HistoryEvent['type'], caller: string, hold: Hold, certainUntil: number): void {
  const event = {
    process: caller,
    key: hold.key,
    token: String(hold.fencingToken),
    type,
    at: String(process.hrtime.bigint()),
    validUntil: String(Math.round(certainUntil * 1e6 + origin)),
  };
  writeSync(file, `${JSON.stringify(event)}\n`);
}

let hammering = true;
let report = { holds: 0, waits: [] as number[], lost: 0, contended: 0, unavailable: 0 };

async function hammer(options: HammerOptions, caller: string): Promise<void> {
  const { keys, ttl, wait, pause } = options;
  while (hammering) {
    const key = keys[Math.floor(Math.random() * keys.length)]!;
    const asked = performance.now();
    try {
      const hold = await engine.acquire(backend, { ...NEVER, key, ttl, wait });
      await work(hold, asked, options, caller);
    } catch (error) {
      if (isLockError(error, 'LOCK_CONTENDED')) report.contended += 1;
      else if (isLockError(error, 'LOCK_UNAVAILABLE')) report.unavailable += 1;
      else if (!isLockError(error, 'LOCK_SHUTDOWN')) throw error;
    }
    if (pause > 0) await sleep(Math.random() * pause);
  }
}

async function work(hold: Hold, asked: number, options: HammerOptions, caller: string): Promise<void> {
  const {
    hold: [shortest, longest],
    longHolds = 0,
    ttl,
  } = options;
  report.holds += 1;
  report.waits.push(performance.now() - asked);
  let certainUntil = performance.now() + hold.remaining();
  write('acquired', caller, hold, certainUntil);
  const duration = Math.random() < longHolds ? 1.5 * ttl : shortest + Math.random() * (longest - shortest);
  const end = performance.now() + duration;
  // Believes what the lock says, and nothing else.
  while (hold.held && performance.now() < end) {
    certainUntil = performance.now() + hold.remaining();
    await sleep(Math.min(5, Math.max(1, end - performance.now())));
  }
  if (!hold.held) report.lost += 1;
  else certainUntil = performance.now() + hold.remaining();
  write(hold.held ? 'released' : 'lost', caller, hold, certainUntil);
  await hold.release();
}

let single: Hold | undefined;
const callers: Promise<void>[] = [];

const commands = {
  async hammer(options: HammerOptions) {
    for (let caller = 0; caller < options.callers; caller += 1) {
      callers.push(hammer(options, `${process.pid}:${caller}`));
    }
  },

  /** Forgets what was counted until now. */
  async reset() {
    report = { holds: 0, waits: [], lost: 0, contended: 0, unavailable: 0 };
  },

  report: async (): Promise<WorkerReport> => report,

  async stop() {
    hammering = false;
    await Promise.all(callers);
    await engine.close(1_000);
  },

  async acquire(key: string, ttl: number) {
    single = await engine.acquire(backend, { ...NEVER, key, ttl, wait: 10_000 });
  },

  /** Runs without a turn of the event loop until the process has been stopped and continued: what the next line sees. */
  async spinUntilStopped(gap: number) {
    let last = performance.now();
    const start = last;
    for (;;) {
      const heldBefore = single!.held;
      const now = performance.now();
      if (now - last > gap) {
        const heldAfter = single!.held;
        return { heldAfter, released: await single!.release() };
      }
      if (!heldBefore) throw new Error(`the lock was lost after ${now - start} ms, before anybody stopped the process`);
      last = now;
    }
  },
};

// Not opened: a worker may start while its store cannot be reached, and connects at its first use.
answerCalls(commands);
