import { median } from '../../scripts/support/statistics.mjs';

/**
 * Runs cases in turn, round by round, so that whatever else the machine does falls on all of them alike.
 *
 * @param cases functions by name, each of which does its work `calls` times, one after the other
 * @returns µs per call, by name: one value for each round
 */
export async function inRounds(cases, { rounds, calls, warmUp = 2 }) {
  const times = Object.fromEntries(Object.keys(cases).map((name) => [name, []]));
  for (let round = -warmUp; round < rounds; round += 1) {
    for (const [name, work] of Object.entries(cases)) {
      const start = process.hrtime.bigint();
      await work(calls);
      const microseconds = Number(process.hrtime.bigint() - start) / 1000;
      if (round >= 0) times[name].push(microseconds / calls);
    }
  }
  return times;
}

export function medians(times) {
  return Object.fromEntries(Object.entries(times).map(([name, values]) => [name, median(values)]));
}

/** The fastest round of each case: where other programs use the machine, the nearest to what the code itself takes. */
export function fastest(times) {
  return Object.fromEntries(Object.entries(times).map(([name, values]) => [name, Math.min(...values)]));
}

/** How many times as long as `base` each case took: the median over the rounds, each compared with its own. */
export function ratiosTo(base, times) {
  return Object.fromEntries(
    Object.entries(times).map(([name, values]) => [
      name,
      median(values.map((value, round) => value / times[base][round])),
    ]),
  );
}
