import { fork } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { jain, mean, quantile, sum } from '../../scripts/support/statistics.mjs';

const worker = fileURLToPath(new URL('hot-key.worker.mjs', import.meta.url));
// From the last process's being ready to the common start.
const LEAD = 100n;

/**
 * Several processes with several waiters each want one key all the time, and hold it for a while.
 *
 * @returns how fast the key goes round, and how evenly
 */
export async function hotKey(contestant, context, { processes, waiters, hold, seconds }) {
  const children = Array.from({ length: processes }, () => fork(worker, { stdio: ['ignore', 2, 2, 'ipc'] }));
  const answers = async (child) => {
    const [message] = await once(child, 'message');
    if (message.error) throw new Error(`${contestant}: ${message.error}`);
    return message;
  };
  try {
    for (const child of children) child.send({ contestant, context, waiters, hold });
    await Promise.all(children.map(answers));
    const start = process.hrtime.bigint() + LEAD * 1_000_000n;
    for (const child of children) child.send({ start: String(start), seconds });
    const reports = await Promise.all(children.map(answers));
    return summarize(reports, seconds * 1000);
  } finally {
    for (const child of children) child.kill('SIGKILL');
  }
}

function summarize(reports, duration) {
  // Times are ms since the start on the clock that all processes of a machine share.
  const all = reports.flatMap(({ waiters }) => waiters);
  const holds = all.flatMap(({ holds }) => holds).sort((a, b) => a[0] - b[0]);
  const waits = all.flatMap(({ waits }) => waits);
  // Who still waited at the end has waited at least so long.
  const open = all.map(({ waitingSince }) => (waitingSince === null ? 0 : duration - waitingSince));
  const longest = Math.max(...waits, ...open);
  const held = mean(holds.map(([from, to]) => to - from));
  const span = holds.at(-1)[1] - holds[0][0];
  return {
    holds: holds.length,
    holdsPerSecond: holds.length / (span / 1000),
    overlaps: holds.filter(([from], index) => index > 0 && from < holds[index - 1][1]).length,
    holdMs: held,
    overheadMs: span / holds.length - held,
    waitMs: { mean: mean(waits), p50: quantile(waits, 0.5), p99: quantile(waits, 0.99), longest },
    longestToMean: longest / mean(waits),
    jain: {
      processes: jain(reports.map(({ waiters }) => sum(waiters.map(({ holds }) => holds.length)))),
      waiters: jain(all.map(({ holds }) => holds.length)),
      waits: jain(waits),
    },
  };
}
