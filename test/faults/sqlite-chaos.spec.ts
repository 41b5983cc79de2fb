import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, afterEach, test } from '@jest/globals';
import { Chaos, rageOnBothSides, type Fault } from '../support/chaos.js';
import { assertSound } from '../support/chaos-report.js';
import { FaultRun } from '../support/fault-run.js';
import { faultDuration, faultSeed } from '../support/seeded-random.js';
import { SqliteBackend } from '../support/sqlite-backend.js';

const backend = new SqliteBackend();
const seed = faultSeed();
const runs: FaultRun[] = [];
const options = {
  keys: ['stock:1', 'stock:2', 'stock:3'],
  callers: 4,
  ttl: 500,
  wait: 2_000,
  hold: [0, 40],
  longHolds: 0.04,
  pause: 20,
} as const;

afterEach(() => Promise.all(runs.splice(0).map((run) => run.end())));
afterAll(() => backend.stop());

const fileFaults: Record<string, Fault> = {
  "somebody's transaction keeps the file for less than a lease": (chaos) => block(chaos.part(0.2, 0.6)),
  "somebody's transaction keeps the file for longer than a lease": (chaos) => block(chaos.part(1.2, 3)),
};

test(
  'no key has two holders, and tokens increase, whatever happens to processes and file',
  async () => {
    const run = new FaultRun({ sqlite: backend.filename });
    runs.push(run);
    await run.start(3, options);
    const chaos = new Chaos(run, options, seed);
    await rageOnBothSides(chaos, seed, fileFaults, faultDuration(12_000));
    await sleep(1_500);
    const reports = await run.stop();
    assertSound(chaos, 'sqlite', seed, reports, 100);
  },
  faultDuration(12_000) + 60_000,
);

async function block(duration: number): Promise<void> {
  const end = await blockSoon();
  await sleep(duration);
  end();
}

/** A worker that was stopped in the middle of a transaction keeps the file itself, until this process lets it go on. */
async function blockSoon(): Promise<() => void> {
  for (;;) {
    try {
      // Without waiting for the file: that would hold up the very event loop that lets the worker go on.
      return backend.block(0);
    } catch (error) {
      if ((error as { code?: string }).code !== 'SQLITE_BUSY') throw error;
      await sleep(10);
    }
  }
}
