import assert from 'node:assert/strict';
import { once } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterEach, describe, test } from '@jest/globals';
import { zookeeperStore } from '../../lib/stores/zookeeper/index.js';
import { keyNode } from '../../lib/stores/zookeeper/zookeeper.names.js';
import { assertSound } from '../support/chaos-report.js';
import { Chaos, type Fault } from '../support/chaos.js';
import { FaultRun } from '../support/fault-run.js';
import { faultDuration, faultSeed } from '../support/seeded-random.js';
import { TestEngine } from '../support/test-engine.js';
import { connectedClient } from '../support/zookeeper-backend.js';
import { ZookeeperCluster } from '../support/zookeeper-cluster.js';
import { TICK_TIME } from '../support/zookeeper-server.js';

const seed = faultSeed();
const SESSION = 4 * TICK_TIME;
const DURATION = faultDuration(20_000);
const options = {
  keys: ['leader', 'stock:1', 'stock:2'],
  callers: 10,
  // Of a session: what is held longer must outlive the change of the leader.
  ttl: SESSION,
  wait: 10_000,
  hold: [0, 40],
  longHolds: 0.02,
  pause: 20,
} as const;

const cleanUps: (() => unknown)[] = [];
afterEach(async () => {
  for (const cleanUp of cleanUps.splice(0).reverse()) await cleanUp();
});

async function ensemble(settings?: Parameters<typeof ZookeeperCluster.start>[0]): Promise<ZookeeperCluster> {
  const cluster = await ZookeeperCluster.start(settings);
  cleanUps.push(() => cluster.stop());
  return cluster;
}

describe('zookeeper, three servers', () => {
  test(
    'no key has two holders, tokens increase and nobody hangs while leaders are killed and stopped',
    async () => {
      const cluster = await ensemble();
      const run = new FaultRun({ zookeeper: cluster.url });
      cleanUps.push(() => run.end());
      await run.start(4, options);
      const chaos = new Chaos(run, options, seed);
      await chaos.rage(faultsOf(cluster), DURATION);
      await cluster.ready();
      // All of them get the lock again, and who waited all the time is served or refused by now.
      await Promise.all(run.workers.map((worker) => worker.reset()));
      await sleep(4_000);
      for (const key of options.keys) {
        const owners = (await queueAt(cluster, key)).map((name) => name.slice(0, 32));
        assert.equal(new Set(owners).size, owners.length, `somebody stands in the queue twice: ${owners.join(', ')}`);
      }
      const reports = await run.stop();
      assertSound(chaos, 'zookeeper', seed, reports, 200);
      // Once all is well nobody is told anything else than that somebody has the key.
      assert.ok(reports.every(({ lost }) => lost === 0));
    },
    DURATION + 120_000,
  );

  test('a holder whose server is cut off from its leader is told before the next is granted', async () => {
    // So patient that the follower goes on answering reads, from what it knows, for ten seconds.
    const cluster = await ensemble({ proxied: true, config: ['syncLimit=20'] });
    const follower = cluster.members[2]!;
    // The proxies are on the follower's side only.
    while ((await cluster.leader()) === follower) {
      await follower.kill();
      await sleep(500);
      await follower.run();
    }
    const holder = await engine(follower.url);
    const others = await engine(
      cluster.members
        .slice(0, 2)
        .map(({ url }) => url)
        .join(','),
    );
    const reader = await connectedClient(follower.url);
    cleanUps.push(() => reader.close());
    const hold = await holder.acquire('cut', { ttl: SESSION });
    const told = once(hold.signal, 'abort').then(() => performance.now());
    const next = others.acquire('cut', { wait: 20_000 }).then((lock) => ({ lock, at: performance.now() }));
    await sleep(TICK_TIME);
    for (const proxy of cluster.proxies) proxy.blackHole();
    const cut = performance.now();
    const toldAt = await told;
    assert.ok(toldAt - cut <= SESSION, `told after ${toldAt - cut} ms`);
    // It is the server that is wrong, not gone.
    await new Promise<void>((resolve, reject) =>
      reader.getChildren('/', undefined, (error) => (error ? reject(error) : resolve())),
    );
    const { lock, at } = await next;
    assert.ok(toldAt < at, `told ${toldAt - at} ms after the next had been granted`);
    assert.ok(lock.fencingToken > hold.fencingToken);
    for (const proxy of cluster.proxies) proxy.heal();
    assert.equal(await lock.release(), true);
  }, 120_000);
});

async function queueAt(cluster: ZookeeperCluster, key: string): Promise<string[]> {
  const reader = await connectedClient(cluster.url);
  try {
    return await new Promise((resolve) =>
      reader.getChildren(`/faults/${keyNode(key)}`, undefined, (error, names) => resolve(error ? [] : names)),
    );
  } finally {
    reader.close();
  }
}

async function engine(connectionString: string): Promise<TestEngine> {
  const times = { sessionTimeout: SESSION, tickTime: TICK_TIME, commandTimeout: '1s' } as const;
  const started = new TestEngine(zookeeperStore({ connectionString, root: '/faults', ...times }));
  cleanUps.push(() => started.close());
  await started.engine.open();
  return started;
}

function faultsOf(cluster: ZookeeperCluster): Record<string, Fault> {
  const stopLeader = async (duration: number): Promise<void> => {
    const leader = await cluster.leader();
    await leader.pause();
    await sleep(duration);
    leader.resume();
    await cluster.ready();
  };
  return {
    'the leader is killed': async ({ random }) => {
      const leader = await cluster.leader();
      await leader.kill();
      await sleep(random.between(500, 3_000));
      leader.launch();
      await cluster.ready();
    },
    'the leader is stopped for less than a session': (chaos) => stopLeader(chaos.part(0.2, 0.6)),
    'the leader is stopped for longer than a session': (chaos) => stopLeader(chaos.part(1.2, 3)),
  };
}
