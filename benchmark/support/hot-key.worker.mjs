import { once } from 'node:events';
import { setTimeout } from 'node:timers/promises';
import { contestants } from '../contestants/index.mjs';

async function main() {
  const [{ contestant, context, waiters, hold }] = await once(process, 'message');
  const { withLock } = await contestants[contestant](context);
  // Connections and code are warm when the clock starts.
  for (let call = 0; call < 200; call += 1) await withLock(`warm:${process.pid}`, async () => undefined);
  process.send({ ready: true });

  const [{ start, seconds }] = await once(process, 'message');
  const origin = BigInt(start);
  const now = () => Number(process.hrtime.bigint() - origin) / 1e6;
  await setTimeout(Math.max(0, -now()));
  const reports = Array.from({ length: waiters }, () => ({ holds: [], waits: [], waitingSince: null }));
  for (const report of reports) void wait(report, withLock, hold, now);
  await setTimeout(seconds * 1000);
  // What is still waiting then, and what it gets later, does not count any more.
  process.send({ waiters: reports });
}

async function wait(report, withLock, hold, now) {
  for (;;) {
    report.waitingSince = now();
    await withLock('hot', async () => {
      const from = now();
      report.waits.push(from - report.waitingSince);
      report.waitingSince = null;
      if (hold > 0) await setTimeout(hold);
      report.holds.push([from, now()]);
    });
  }
}

process.once('disconnect', () => process.exit());
main().catch((error) => process.send({ error: error.stack }));
