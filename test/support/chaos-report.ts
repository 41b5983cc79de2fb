import assert from 'node:assert/strict';
import type { HistoryReport } from '../../lib/testing/index.js';
import type { Chaos } from './chaos.js';
import type { WorkerReport } from './fault-worker.config.js';
import { say } from './say.js';

/** Fails when two held a key at once, a token did not increase, a worker crashed, or too little happened to tell. */
export function assertSound(
  chaos: Chaos,
  store: string,
  seed: number,
  reports: readonly WorkerReport[],
  least: number,
): void {
  const report = chaos.run.check();
  describeRun(chaos, store, seed, reports, report);
  const replay = `FAULT_SEED=${seed}`;
  assert.deepEqual(report.overlaps, [], replay);
  assert.deepEqual(report.fenceViolations, [], replay);
  assert.deepEqual(chaos.run.failures(), [], replay);
  assert.ok(report.holds.length >= least, `only ${report.holds.length} holds`);
  // Those that were alive at the end have all had the lock again.
  assert.ok(reports.every(({ holds }) => holds > 0));
}

export function describeRun(
  { caused }: Chaos,
  store: string,
  seed: number,
  reports: readonly WorkerReport[],
  { holds, overlaps, fenceViolations }: HistoryReport,
): void {
  const sum = (field: 'lost' | 'contended' | 'unavailable'): number =>
    reports.reduce((all, one) => all + one[field], 0);
  say(
    `${store}, FAULT_SEED=${seed}: ${caused.length} faults, ${holds.length} holds, ${overlaps.length} overlaps, ` +
      `${fenceViolations.length} tokens out of order; of the workers alive at the end: ${sum('lost')} lost, ` +
      `${sum('contended')} contended, ${sum('unavailable')} unavailable`,
  );
}
