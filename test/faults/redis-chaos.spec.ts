import assert from 'node:assert/strict';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, afterEach, describe, test } from '@jest/globals';
import { Chaos, rageOnBothSides, type Fault } from '../support/chaos.js';
import { assertSound, describeRun } from '../support/chaos-report.js';
import { FaultRun } from '../support/fault-run.js';
import { RedisServer } from '../support/redis-server.js';
import { faultDuration, faultSeed } from '../support/seeded-random.js';
import { TcpProxy } from '../support/tcp-proxy.js';

const server = await RedisServer.start();
const proxy = await TcpProxy.start(server.port);
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

afterEach(async () => {
  server.resume();
  proxy.heal();
  await Promise.all(runs.splice(0).map((run) => run.end()));
});
afterAll(async () => {
  await proxy.stop();
  await server.stop();
});

const serverFaults: Record<string, Fault> = {
  'redis is stopped for less than a lease': (chaos) => stopServer(chaos.part(0.2, 0.6)),
  'redis is stopped for longer than a lease': (chaos) => stopServer(chaos.part(1.2, 2.5)),
  'all connections break': async () => proxy.cut({ refuse: false }),
  'redis cannot be reached for a while': async (chaos) => {
    proxy.cut();
    await sleep(chaos.part(0.3, 2));
    proxy.heal();
  },
  'answers are lost': async (chaos) => {
    proxy.dropReplies();
    await sleep(chaos.part(0.1, 0.5));
    proxy.cut({ refuse: false });
    proxy.heal();
  },
  'the network is cut in two for longer than a lease, and delivers late': async (chaos) => {
    proxy.blackHole();
    await sleep(chaos.part(1.2, 2));
    proxy.heal();
  },
};

describe('redis, several processes', () => {
  test(
    'no key has two holders, and tokens increase, whatever happens to processes, server and network',
    async () => {
      const chaos = await start();
      await rageOnBothSides(chaos, seed, serverFaults, faultDuration(12_000));
      await sleep(1_500);
      const reports = await chaos.run.stop();
      assertSound(chaos, 'redis', seed, reports, 100);
    },
    faultDuration(12_000) + 60_000,
  );

  test(
    'tokens increase although redis loses its data',
    async () => {
      const chaos = await start();
      const losses: bigint[] = [];
      const loseData: Fault = async () => {
        losses.push(process.hrtime.bigint());
        await server.restart();
        losses.push(process.hrtime.bigint());
      };
      await chaos.rage({ 'redis loses its data': loseData }, faultDuration(12_000) / 3);
      await sleep(1_500);
      const reports = await chaos.run.stop();
      const report = chaos.run.check();
      const grace = BigInt(options.ttl) * 1_000_000n;
      // Redis promises nothing to those who held a lock then: only that no new holder is given an old token.
      const excused = (at: bigint): boolean => losses.some((loss) => at >= loss && at <= loss + grace);
      assert.deepEqual(
        report.overlaps.filter(({ second }) => !excused(second.from)),
        [],
      );
      assert.deepEqual(report.fenceViolations, []);
      assert.deepEqual(chaos.run.failures(), []);
      assert.ok(report.holds.length > 100);
      describeRun(chaos, 'redis', seed, reports, report);
    },
    faultDuration(12_000) + 60_000,
  );
});

async function start(): Promise<Chaos> {
  const run = new FaultRun({ redis: `redis://127.0.0.1:${proxy.port}` });
  runs.push(run);
  await run.start(3, options);
  return new Chaos(run, options, seed);
}

async function stopServer(duration: number): Promise<void> {
  await server.pause();
  await sleep(duration);
  server.resume();
}
