import assert from 'node:assert/strict';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, afterEach, describe, expect, test } from '@jest/globals';
import type { LockEngine } from '../../lib/engine/lock.engine.js';
import { etcdStore } from '../../lib/stores/etcd/index.js';
import { Chaos, type Fault } from '../support/chaos.js';
import { assertSound, describeRun } from '../support/chaos-report.js';
import { EtcdCluster } from '../support/etcd-cluster.js';
import { FaultRun } from '../support/fault-run.js';
import { until } from '../support/redis-requests.js';
import { say } from '../support/say.js';
import { faultSeed } from '../support/seeded-random.js';
import { TcpProxy } from '../support/tcp-proxy.js';
import { TestEngine } from '../support/test-engine.js';

const cluster = await EtcdCluster.start();
const proxies = await Promise.all(cluster.members.map(({ port }) => TcpProxy.start(port)));
const proxied = proxies.map(({ port }) => `http://127.0.0.1:${port}`);
const seed = faultSeed();
const runs: FaultRun[] = [];
const engines: LockEngine[] = [];
const options = {
  keys: ['stock:1', 'stock:2', 'stock:3'],
  callers: 10,
  // The shortest lease that these servers grant.
  ttl: 1_000,
  wait: 5_000,
  hold: [0, 20],
  longHolds: 0.02,
  pause: 10,
} as const;

afterEach(async () => {
  for (const member of cluster.members) member.resume();
  for (const proxy of proxies) proxy.heal();
  await Promise.all(runs.splice(0).map((run) => run.end()));
  await Promise.all(engines.splice(0).map((engine) => engine.close(0)));
});
afterAll(async () => {
  await Promise.all(proxies.map((proxy) => proxy.stop()));
  await cluster.stop();
});

/** What can happen to a cluster. Each resolves when it is over. */
const faults: Record<string, Fault> = {
  'the leader is killed': async (chaos) => {
    const leader = await cluster.leader();
    await leader.kill();
    await sleep(chaos.part(1, 3));
    await leader.run();
  },
  'the leader is stopped for longer than a session, and killed': async (chaos) => {
    const leader = await cluster.leader();
    await leader.pause();
    await sleep(chaos.part(1.5, 4));
    await leader.kill();
    await leader.run();
  },
  'the leader is stopped for a moment': async (chaos) => {
    const leader = await cluster.leader();
    await leader.pause();
    await sleep(chaos.part(0.2, 0.5));
    leader.resume();
  },
  'the majority is stopped for longer than a session': async (chaos) => {
    const [leader, other] = [await cluster.leader(), chaos.random.pick(cluster.members)];
    await Promise.all([leader.pause(), other.pause()]);
    await sleep(chaos.part(1.5, 3));
    for (const member of [leader, other]) member.resume();
  },
  'all clients are cut off for longer than a session, and deliver late': async (chaos) => {
    for (const proxy of proxies) proxy.blackHole();
    await sleep(chaos.part(1.2, 2.5));
    for (const proxy of proxies) proxy.heal();
  },
};

describe('etcd, three members', () => {
  test('four processes with ten waiters each go on over whatever happens to the leader, the majority and the network', async () => {
    const chaos = await start();
    for (const [name, cause] of Object.entries(faults)) await suffer(chaos, name, cause);
    await sleep(1_000);
    const reports = await chaos.run.stop();
    assertSound(chaos, 'etcd', seed, reports, 200);
  }, 120_000);

  test('whatever a leader ends that was replaced while it was stopped, its holders are told in no time', async () => {
    const chaos = await start();
    await suffer(chaos, 'the leader is stopped for longer than a session, and goes on', async () => {
      const leader = await cluster.leader();
      await leader.pause();
      await sleep(chaos.part(1.5, 4));
      leader.resume();
    });
    await sleep(1_000);
    const reports = await chaos.run.stop();
    const report = chaos.run.check();
    describeRun(chaos, 'etcd', seed, reports, report);
    // Until 3.5.13 etcd ends sessions then that are alive: who comes at that very moment is not held up.
    const long = report.overlaps.filter(({ duration }) => duration === undefined || duration > 300_000_000n);
    assert.deepEqual(long, [], `FAULT_SEED=${seed}`);
    assert.ok(report.overlaps.length <= 2, `${report.overlaps.length} overlaps`);
    assert.deepEqual(report.fenceViolations, []);
    assert.deepEqual(chaos.run.failures(), []);
  }, 60_000);

  test('the lock of a killed process is free when its session is over, not earlier and not much later', async () => {
    const run = new FaultRun({ etcd: cluster.urls });
    runs.push(run);
    const [worker] = await run.start();
    await worker!.acquire('killed', options.ttl);
    await sleep(1.5 * options.ttl);
    const waiting = engineOf(cluster.urls).acquire('killed', { wait: 10_000 });
    await sleep(200);
    await run.kill(worker!);
    const killed = performance.now();
    const hold = await waiting;
    const free = performance.now() - killed;
    // The last sign of life was at most a third of the time before; etcd looks for what is over twice a second.
    expect(free).toBeGreaterThan(options.ttl * 0.5);
    expect(free).toBeLessThan(options.ttl + 2_500);
    expect(await hold.release()).toBe(true);
  }, 30_000);

  test('a holder that is cut off from all members is told before the next can be granted', async () => {
    for (let round = 0; round < 3; round += 1) {
      const [cutOff, next] = [engineOf(proxied), engineOf(cluster.urls)];
      const key = `cut off ${round}`;
      const hold = await cutOff.acquire(key, { ttl: options.ttl });
      await sleep(round * 150);
      let told = Infinity;
      hold.signal.addEventListener('abort', () => (told = performance.now()));
      const waiting = next.acquire(key, { ttl: 10_000, wait: 15_000 });
      await sleep(100);
      for (const proxy of proxies) proxy.blackHole();
      const successor = await waiting;
      const granted = performance.now();
      assert.ok(told < granted, `told at ${told}, the next was granted at ${granted}`);
      expect(hold.held).toBe(false);
      expect(successor.fencingToken).toBeGreaterThan(hold.fencingToken);
      for (const proxy of proxies) proxy.heal();
      const again = cutOff.acquire(key, { ttl: options.ttl, wait: 15_000 });
      await sleep(100);
      expect(await successor.release()).toBe(true);
      expect((await again).held).toBe(true);
      await (await again).release();
    }
  }, 60_000);
});

async function start(): Promise<Chaos> {
  const run = new FaultRun({ etcd: proxied });
  runs.push(run);
  await run.start(4, options);
  return new Chaos(run, options, seed);
}

/** Has something go wrong, and waits until all processes hold locks again. */
async function suffer(chaos: Chaos, name: string, cause: Fault): Promise<void> {
  const { run } = chaos;
  await sleep(chaos.random.between(500, 1_500));
  await cause(chaos);
  chaos.caused.push(name);
  const over = performance.now();
  await Promise.all(run.workers.map((worker) => worker.reset()));
  const everybodyWorks = async (): Promise<boolean> => {
    const reports = await Promise.all(run.workers.map((worker) => worker.report()));
    return reports.every(({ holds }) => holds > 0);
  };
  await until(everybodyWorks, 15_000);
  say(`etcd: ${name}; all work again ${Math.round(performance.now() - over)} ms after its end`);
}

function engineOf(hosts: readonly string[]): TestEngine {
  const engine = new TestEngine(etcdStore({ hosts, prefix: 'faults' }));
  engines.push(engine.engine);
  return engine;
}
