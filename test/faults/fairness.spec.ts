import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, expect, test } from '@jest/globals';
import { FaultRun } from '../support/fault-run.js';
import type { FaultWorker } from '../support/fault-worker.process.js';
import { RedisBackend } from '../support/redis-backend.js';
import { say } from '../support/say.js';

const redis = await RedisBackend.start();
const run = new FaultRun({ redis: redis.directUrl });
afterAll(async () => {
  await run.end();
  await redis.stop();
});

interface Window {
  readonly shares: readonly number[];
  readonly index: number;
  readonly mean: number;
  readonly longest: number;
}

test('forty callers in four processes on one hot key are served evenly, without overlap', async () => {
  const options = { keys: ['hot'], callers: 10, ttl: 10_000, wait: 30_000, hold: [2, 2], pause: 0 } as const;
  const workers = await run.start(4, options);
  await sleep(1_000);
  const windows: Window[] = [];
  for (let count = 0; count < 3; count += 1) windows.push(await observe(workers, 2_000));
  await run.stop();
  const history = run.check();
  say(`${history.overlaps.length} overlaps in ${history.holds.length} holds`);
  expect(history.overlaps).toEqual([]);
  expect(history.fenceViolations).toEqual([]);
  expect(Math.min(...windows.map(({ index }) => index))).toBeGreaterThanOrEqual(0.95);
  // A machine that stands still for a moment makes one wait long; an unfair queue does so every time.
  expect(Math.min(...windows.map(({ longest, mean }) => longest / mean))).toBeLessThanOrEqual(3);
}, 60_000);

async function observe(workers: readonly FaultWorker[], duration: number): Promise<Window> {
  await Promise.all(workers.map((worker) => worker.reset()));
  await sleep(duration);
  const reports = await Promise.all(workers.map((worker) => worker.report()));
  const shares = reports.map(({ holds }) => holds);
  const waits = reports.flatMap((report) => report.waits);
  const mean = sum(waits) / waits.length;
  const longest = waits.reduce((a, b) => Math.max(a, b));
  const index = jain(shares);
  say(
    `hot key on redis, 4 processes x 10 callers, hold 2 ms: ${sum(shares)} holds in ${duration} ms (${shares.join(', ')}), ` +
      `Jain's index ${index.toFixed(4)}, wait ${mean.toFixed(1)} ms mean and ${longest.toFixed(1)} ms longest`,
  );
  return { shares, index, mean, longest };
}

function sum(values: readonly number[]): number {
  return values.reduce((a, b) => a + b, 0);
}

/** 1 when all shares are equal, 1/n when one has everything (Jain, Chiu, Hawe 1984). */
function jain(shares: readonly number[]): number {
  return sum(shares) ** 2 / (shares.length * sum(shares.map((share) => share ** 2)));
}
