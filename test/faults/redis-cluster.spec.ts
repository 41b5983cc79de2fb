import assert from 'node:assert/strict';
import { setTimeout as sleep } from 'node:timers/promises';
import { inspect } from 'node:util';
import { afterAll, afterEach, describe, test } from '@jest/globals';
import { FaultRun } from '../support/fault-run.js';
import type { ClusterFamily } from '../support/redis-cluster-clients.js';
import { RedisCluster } from '../support/redis-cluster.js';
import { until } from '../support/redis-requests.js';
import { say } from '../support/say.js';
import { faultDuration, faultSeed, SeededRandom } from '../support/seeded-random.js';

const PREFIX = 'faults';
const families: ClusterFamily[] = ['ioredis6', 'redis6', 'ioredis5'];
const hammer = {
  keys: ['stock:1', 'stock:2', 'stock:3'],
  callers: 4,
  ttl: 2_000,
  wait: 3_000,
  hold: [0, 40],
  longHolds: 0.01,
  pause: 20,
} as const;

// No replica takes over by itself: it could not know the last locks.
const cluster = await RedisCluster.start();
const seed = faultSeed();
const runs: FaultRun[] = [];

afterEach(() => Promise.all(runs.splice(0).map((run) => run.end())));
afterAll(() => cluster.stop());

type Fault = (run: FaultRun, random: SeededRandom) => Promise<void>;

const located = (family: ClusterFamily) => ({ redisCluster: cluster.nodes, family });
const startIn = (run: FaultRun, family: ClusterFamily) => run.start(1, hammer, located(family));

const lockName = (random: SeededRandom): string => `{${PREFIX}:${random.pick(hammer.keys)}}`;

/** What can happen to a cluster without losing what it has confirmed. */
const faults: Record<string, Fault> = {
  'a hot slot is moved': (_, random) => cluster.moveSlotOf(lockName(random)),
  'a hot slot stands half moved for a while': async (_, random) => {
    const slot = cluster.slotOf(lockName(random));
    const from = await cluster.masterOfSlot(slot);
    const others = (await cluster.masters()).filter((master) => master !== from);
    await cluster.startMoving(slot, random.pick(others), random.pick([0, 1, 2]));
    await sleep(random.between(0.1, 0.4) * hammer.ttl);
    await cluster.finishMoving(slot);
  },
  'a replica takes its master’s place in order': (_, random) => cluster.failover(lockName(random)),
  'all connections break': async () => cluster.members.forEach(({ proxy }) => proxy.cut({ refuse: false })),
  'one node cannot be reached for a while': async (_, random) => {
    const { proxy } = random.pick(cluster.members);
    proxy.cut();
    await sleep(random.between(0.1, 0.5) * hammer.ttl);
    proxy.heal();
  },
  'all nodes forget their scripts': () => cluster.onMasters('SCRIPT', 'FLUSH'),
  'a worker is killed': async (run, random) => {
    await run.kill(random.pick(run.workers));
    await startIn(run, random.pick(families));
  },
};

describe('redis, a cluster and several processes', () => {
  test(
    'no key has two holders, and tokens increase, while slots move and nodes change',
    async () => {
      const run = new FaultRun(located('ioredis6'));
      runs.push(run);
      await Promise.all(families.map((family) => startIn(run, family)));
      const random = new SeededRandom(seed);
      const caused: string[] = [];
      const end = performance.now() + faultDuration(12_000);
      // Each at least once, in an order that the seed decides.
      const due = Object.keys(faults);
      while (due.length > 0 || performance.now() < end) {
        await sleep(random.between(50, 400));
        const name = random.pick(due.length > 0 ? due : Object.keys(faults));
        if (due.includes(name)) due.splice(due.indexOf(name), 1);
        caused.push(name);
        await faults[name]!(run, random);
      }
      await cluster.waitUntilHealthy();
      // Whoever is alive has the lock again.
      await Promise.all(run.workers.map((worker) => worker.reset()));
      const report = () => Promise.all(run.workers.map((worker) => worker.report()));
      const replay = `FAULT_SEED=${seed}: ${caused.join(', ')}`;
      await until(async () => (await report()).every(({ holds }) => holds > 0), 20_000).catch(async () => {
        throw new Error(`a worker gets no lock any more, ${replay}: ${inspect(await report(), { depth: 4 })}`);
      });
      const reports = await run.stop();
      const { holds, overlaps, fenceViolations } = run.check();
      const sum = (field: 'lost' | 'contended' | 'unavailable') =>
        reports.reduce((all, report) => all + report[field], 0);
      say(
        `redis cluster, FAULT_SEED=${seed}: ${caused.length} faults, ${holds.length} holds, ${overlaps.length} ` +
          `overlaps, ${fenceViolations.length} tokens out of order; at the end ${sum('lost')} lost, ` +
          `${sum('contended')} contended, ${sum('unavailable')} unavailable`,
      );
      assert.deepEqual(overlaps, [], replay);
      assert.deepEqual(fenceViolations, [], replay);
      assert.deepEqual(run.failures(), [], replay);
      assert.ok(holds.length >= 100, `only ${holds.length} holds; ${replay}`);
    },
    faultDuration(12_000) + 60_000,
  );
});
