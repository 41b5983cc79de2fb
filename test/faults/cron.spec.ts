// A job that runs every second in three processes whose wall clocks differ, for a minute, while one process is killed and
// others are stopped for some seconds. docs/scheduling.md says in plain words what is shown here:
//
// - One run a tick. `minHold` keeps the key past the moment when the slowest clock has refused its own call.
// - A process that is killed in the middle of a run costs this tick, and those that begin before its lease has ended: its
//   `ttl` at the most. So does one that is stopped in the middle of a run.
// - One that is stopped while another runs the job costs nothing.
// - One that wakes up calls the job for a tick that is long past. It is refused if the present tick's key is still kept.
//   If not it gets the lock, as it must: nobody else has it. The job then asks, under its lock, whether the tick that it
//   takes for the present one is done. If it is, that is a repetition and ends there; if not (more than half a second has
//   gone by), the tick is run early, and the others find it taken or done.
// - A run that has lost its lock knows, and does not finish.
import { afterAll, expect, test } from '@jest/globals';
import { Redis } from 'ioredis';
import { setTimeout as sleep } from 'node:timers/promises';
import { JOB, LINES, type CronLine, type CronReport } from '../support/cron-worker.config.js';
import { CronWorker } from '../support/cron-worker.process.js';
import { RedisServer } from '../support/redis-server.js';
import { say } from '../support/say.js';
import { faultSeed, SeededRandom } from '../support/seeded-random.js';

const TICKS = 60;
const SKEWS = [60, 0, -60];
const seed = faultSeed();
const random = new SeededRandom(seed);
const server = await RedisServer.start();
const redis = new Redis(server.url);
const workers: CronWorker[] = [];

afterAll(async () => {
  await Promise.all(workers.map((worker) => worker.kill()));
  redis.disconnect();
  await server.stop();
});

async function start(skew: number): Promise<void> {
  workers.push(await CronWorker.start({ redis: server.url, skew }));
}
const second = (): number => Date.now() / JOB.period;
const untilSecond = (at: number): Promise<void> => sleep(Math.max(0, at * JOB.period - Date.now()));
const linesOf = async (from: number): Promise<CronLine[]> =>
  (await redis.lrange(LINES, from, -1)).map((line) => JSON.parse(line) as CronLine);

/** Waits for the next long run, and answers as soon as it has begun, with the process that runs it. */
async function nextLongRun(): Promise<CronWorker> {
  for (let seen = await redis.llen(LINES); ;) {
    const lines = await linesOf(seen);
    seen += lines.length;
    const run = lines.find(({ type, tick }) => type === 'began' && tick % 5 === 0);
    const runner = workers.find(({ pid }) => pid === run?.pid);
    if (runner !== undefined) return runner;
    await sleep(5);
  }
}

test(
  'a job runs once a tick on one of three processes, whoever of them is killed or stopped',
  async () => {
    await Promise.all(SKEWS.map(start));
    const first = Math.ceil(second()) + 1;
    const last = first + TICKS - 1;
    /** Since when ticks may be missing, in seconds. */
    const struck: number[] = [];

    await untilSecond(first + random.between(5, 10));
    const killed = await nextLongRun();
    const skew = SKEWS[workers.indexOf(killed)]!;
    await killed.kill();
    struck.push(second());
    workers.splice(workers.indexOf(killed), 1);
    await start(skew);

    // Between two ticks, when it asks for nothing.
    await untilSecond(first + Math.round(random.between(22, 26)) + random.between(0.6, 0.8));
    const { pid: running } = (await linesOf(-1))[0]!;
    const bystander = random.pick(workers.filter(({ pid }) => pid !== running));
    bystander.pause();
    await sleep(random.between(2_000, 6_000));
    bystander.resume();

    await untilSecond(first + random.between(35, 41));
    const stopped = await nextLongRun();
    stopped.pause();
    struck.push(second());
    await sleep(random.between(2_500, 6_000));
    stopped.resume();

    await untilSecond(last + 0.9);
    const reports = await Promise.all(workers.map((worker) => worker.report()));
    const lines = (await linesOf(0)).filter(({ tick }) => tick >= first && tick <= last);
    expect(workers.flatMap(({ failure }) => failure ?? [])).toEqual([]);
    await Promise.all(workers.splice(0).map((worker) => worker.stop()));

    describeRun(lines, reports);
    expect(ticksOf(lines, 'done')).toEqual([...new Set(ticksOf(lines, 'done'))]);
    const missing = Array.from({ length: TICKS }, (_, index) => first + index).filter(
      (tick) => !ticksOf(lines, 'done').includes(tick),
    );
    const excused = (tick: number) =>
      struck.some((at) => tick > at - 1 && tick < at + (JOB.ttl + JOB.minHold) / JOB.period);
    expect({ seed, missing: missing.filter((tick) => !excused(tick)) }).toEqual({ seed, missing: [] });
    // The tick in which a process died, or stood still, is missing: nobody knows how far it came.
    expect(missing.length).toBeGreaterThan(0);
    expectApart(lines);
    expectQuiet(reports);
  },
  (TICKS + 40) * JOB.period,
);

function ticksOf(lines: readonly CronLine[], type: CronLine['type']): number[] {
  return lines.filter((line) => line.type === type).map(({ tick }) => tick);
}

/** Each grant is later than the one before by `minHold`, and has a larger token. */
function expectApart(lines: readonly CronLine[]): void {
  const grants = lines.filter(({ type }) => type === 'began' || type === 'repeated');
  for (const [index, grant] of grants.entries()) {
    const before = grants[index - 1];
    if (before === undefined) continue;
    expect(BigInt(grant.token)).toBeGreaterThan(BigInt(before.token));
    expect(grant.at - before.at).toBeGreaterThan(JOB.minHold / 2);
  }
  // Late calls repeat a tick now and then; clocks that differ by less than `minHold` never do.
  expect(ticksOf(lines, 'repeated').length).toBeLessThanOrEqual(TICKS / 10);
}

/** Every call that did not run was counted, and nobody was told of it in a log. */
function expectQuiet(reports: readonly CronReport[]): void {
  for (const { fired, acquired, contended, unavailable, logs } of reports) {
    expect({ fired, unavailable }).toEqual({ fired: acquired + contended, unavailable: 0 });
    expect(contended).toBeGreaterThan(0);
    expect(logs.filter((line) => !/ is not held any more|to the renewal of/.test(line))).toEqual([]);
  }
  // Who was stopped in the middle of a run has something to tell: at most the loss, and a renewal without an answer.
  expect(reports.filter(({ logs }) => logs.length > 0).length).toBeLessThanOrEqual(1);
}

function describeRun(lines: readonly CronLine[], reports: readonly CronReport[]): void {
  const count = (type: CronLine['type']) => ticksOf(lines, type).length;
  say(
    `cron, FAULT_SEED=${seed}: ${TICKS} ticks, ${count('done')} done, ${count('repeated')} repeated, ${count('lost')} lost; ` +
      reports
        .map(({ acquired, contended, latest }) => `${acquired} runs and ${contended} skips, ${latest} ms late at most`)
        .join('; ') +
      `; logs: ${JSON.stringify(reports.flatMap(({ logs }) => logs))}`,
  );
}
