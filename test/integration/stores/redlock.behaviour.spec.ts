import { setTimeout as sleep } from 'node:timers/promises';
import { afterEach, describe, expect, it } from '@jest/globals';
import type { AcquireResult, LockStore } from '../../../lib/contract/index.js';
import { withdrawScript, voteScript } from '../../../lib/stores/redlock/scripts/index.js';
import { clientFamilies } from '../../support/redis-clients.js';
import { newOwner, request, take, until } from '../../support/redis-requests.js';
import type { RedlockBackend, RedlockTestNode } from '../../support/redlock-backend.js';
import { allFree, nodeFaults, RedlockBench, timed } from '../../support/redlock-bench.js';
import { TcpProxy } from '../../support/tcp-proxy.js';

const bench = new RedlockBench();
afterEach(async () => {
  expect(await bench.end()).toEqual([]);
});

const NODE_TIMEOUT = 200;
/** What a round is given on a busy machine, in ms. */
const ROUND = 300;

const each = async (nodes: readonly RedlockTestNode[], act: (node: RedlockTestNode) => unknown): Promise<void> => {
  await Promise.all(nodes.map(act));
};

/** Works, and is woken by push, within what the nodes' timeout and one round allow. */
async function works(a: LockStore, b: LockStore, key: string, bound: number): Promise<void> {
  const taken = await timed(take(a, key));
  expect(taken.error).toBeUndefined();
  expect(taken.took).toBeLessThan(bound);
  const hold = taken.value!;
  const renewed = await timed(a.renew!([{ hold, ttl: 10_000 }]));
  expect(renewed).toMatchObject({ value: ['renewed'] });
  expect(renewed.took).toBeLessThan(bound);
  const refused = await timed(b.acquire(request(key)));
  expect(refused.value).toMatchObject({ acquired: false });
  expect(refused.took).toBeLessThan(bound);
  const asked = request(key, { wait: true });
  const waiting = timed(b.acquire(asked));
  await until(() => asked.statuses.length > 0);
  expect(asked.statuses).toEqual(asked.statuses.map(() => expect.objectContaining({ kind: 'contended' })));
  // It listens by now.
  await sleep(100);
  const released = await timed(hold.release());
  expect(released).toMatchObject({ value: true });
  expect(released.took).toBeLessThan(bound);
  const next = await timed(waiting);
  expect(next.took).toBeLessThan(bound);
  expect(next.value!.value).toMatchObject({ acquired: true });
  const holdOfNext = (next.value!.value as AcquireResult & { acquired: true }).hold;
  expect((await b.inspect(key))?.owner).toBe(holdOfNext.owner);
  expect(await holdOfNext.release()).toBe(true);
}

describe.each([
  [3, 1],
  [5, 2],
])('%i nodes', (count, minority) => {
  it.each(Object.keys(nodeFaults))('go on with a minority %s, and use it again when it is back', async (name) => {
    const fault = nodeFaults[name]!;
    const backend = await bench.backend(count);
    const options = { urls: backend.urls, nodeTimeout: NODE_TIMEOUT, pollInterval: '30s' };
    const [a, b] = await Promise.all([bench.open(options), bench.open(options)]);
    const before = await take(a, 'before');
    const gone = backend.nodes.slice(-minority);
    await each(gone, fault.begin);
    for (let round = 0; round < 3; round += 1) await works(a, b, `away-${round}`, NODE_TIMEOUT + ROUND);
    expect(await before.release()).toBe(true);
    await each(gone, fault.end);
    const peeks = backend.nodes.map((node) => bench.peek(node));
    // Votes that were asked of them when they went, or given before, are taken back.
    await Promise.all(['before', 'away-0', 'away-1', 'away-2'].map((key) => allFree(peeks, `lock:${key}`, 8_000)));
    await until(async () => {
      const hold = await take(a, 'after');
      await sleep(20);
      const votes = await Promise.all(peeks.map((client) => client.exists('lock:after')));
      await hold.release();
      return votes.every((vote) => vote === 1);
    }, 10_000);
  });

  it.each(Object.keys(nodeFaults))('are unavailable with a majority %s, within the wait, and recover', async (name) => {
    const fault = nodeFaults[name]!;
    const backend = await bench.backend(count);
    const options = { urls: backend.urls, nodeTimeout: NODE_TIMEOUT };
    const [engine, other] = await Promise.all([bench.engine(options), bench.engine(options)]);
    const hold = await engine.acquire('held', { ttl: 20_000 });
    const gone = backend.nodes.slice(0, minority + 1);
    await each(gone, fault.begin);
    for (const wait of [0, 700]) {
      const { took, error } = await timed(engine.acquire('other', { wait }));
      expect(error).toMatchObject({ code: 'LOCK_UNAVAILABLE', message: expect.stringContaining('no quorum') });
      expect(took).toBeLessThan(wait + NODE_TIMEOUT + ROUND);
      if (wait > 0) expect(took).toBeGreaterThanOrEqual(wait - 5);
    }
    // Held by somebody else, and yet not contended: nobody can tell.
    expect((await timed(other.acquire('held', { wait: 0 }))).error).toMatchObject({ code: 'LOCK_UNAVAILABLE' });
    expect(hold.held).toBe(true);
    await each(gone, fault.end);
    const again = await timed(engine.acquire('other', { wait: 10_000 }));
    expect(again.error).toBeUndefined();
    await again.value!.release();
    // Killed servers have lost what they had.
    if (name !== 'killed') expect(await hold.release()).toBe(true);
  });
});

it('starts with a minority away, and takes it in when it comes', async () => {
  const backend = await bench.backend(3);
  const third = backend.nodes[2]!;
  await third.server.kill();
  const { took, value: store } = await timed(bench.open({ urls: backend.urls }));
  expect(took).toBeLessThan(2_500);
  expect(store!.warnings).toEqual([
    expect.stringMatching(/^a node takes no part: redis at .+\. 2 of 3 nodes vote, of which none may fail\./),
  ]);
  await (await take(store!, 'without')).release();
  await third.server.run();
  const peek = bench.peek(third);
  await until(async () => {
    const hold = await take(store!, 'with');
    await sleep(20);
    const votes = await peek.exists('lock:with');
    await hold.release();
    return votes === 1;
  });
});

it('warns of a node that takes no writes, and of none where all vote', async () => {
  const { nodes, urls } = await bench.backend(3);
  expect((await bench.open({ urls })).warnings).toEqual([]);
  await bench.peek(nodes[2]!).replicaof('127.0.0.1', nodes[0]!.server.port);
  expect((await bench.open({ urls })).warnings).toEqual([expect.stringMatching(/takes no part: .*READONLY/)]);
});

it('does not start without a majority, and starts when asked again', async () => {
  const backend = await bench.backend(3);
  await each(backend.nodes.slice(1), ({ server }) => server.kill());
  const store = bench.store({ urls: backend.urls, connectTimeout: '500ms' });
  const { took, error } = await timed(store.open());
  expect(took).toBeLessThan(1_500);
  expect(error).toMatchObject({ code: 'LOCK_UNAVAILABLE', retryable: true });
  await each(backend.nodes.slice(1), ({ server }) => server.run());
  await store.open();
  await take(store, 'a');
});

describe('votes without an answer', () => {
  it('are taken back when a stopped node goes on, long before their leases end', async () => {
    const backend = await bench.backend(3);
    const store = await bench.open({ urls: backend.urls });
    const third = backend.nodes[2]!;
    await third.server.pause();
    const hold = await take(store, 'late', { ttl: 60_000 });
    expect(await hold.release()).toBe(true);
    third.server.resume();
    await allFree([bench.peek(third)], 'lock:late');
  });

  it('are taken back after a round that was lost, once the node is back, though its connection is gone', async () => {
    const backend = await bench.backend(3);
    const store = await bench.open({ urls: backend.urls, nodeTimeout: '1s' });
    const peeks = backend.nodes.map((node) => bench.peek(node));
    const third = backend.nodes[2]!;
    for (const client of peeks.slice(0, 2)) await client.set('lock:late', newOwner(), 'PX', 60_000);
    // The third votes first, and its answer is lost.
    await each(backend.nodes.slice(0, 2), ({ server }) => server.pause());
    third.proxy.dropReplies();
    const asked = timed(store.acquire(request('late', { ttl: 60_000 })));
    await until(async () => (await peeks[2]!.exists('lock:late')) === 1);
    third.proxy.cut();
    await each(backend.nodes.slice(0, 2), ({ server }) => server.resume());
    expect((await asked).value).toMatchObject({ acquired: false });
    expect(await peeks[2]!.exists('lock:late')).toBe(1);
    third.proxy.heal();
    await allFree([peeks[2]!], 'lock:late');
  });

  it('are taken back by abandoning, as soon as the rest is no quorum', async () => {
    const backend = await bench.backend(3);
    const store = await bench.open({ urls: backend.urls });
    const peeks = backend.nodes.map((node) => bench.peek(node));
    const [, second, third] = backend.nodes;
    const { owner } = await take(store, 'abandoned', { ttl: 60_000 });
    second!.proxy.cut();
    third!.proxy.cut();
    expect((await timed(store.abandon('abandoned', owner))).error).toMatchObject({ code: 'LOCK_UNAVAILABLE' });
    second!.proxy.heal();
    await until(async () => !(await timed(store.abandon('abandoned', owner))).error);
    expect(await peeks[2]!.exists('lock:abandoned')).toBe(1);
    third!.proxy.heal();
    await allFree(peeks, 'lock:abandoned');
  });

  it('do not pile up for a node that is silent', async () => {
    const backend = await bench.backend(3);
    const store = await bench.open({ urls: backend.urls });
    const third = backend.nodes[2]!;
    const peek = bench.peek(third);
    const calls = async (): Promise<number> =>
      Number(/cmdstat_evalsha:calls=(\d+)/.exec(await peek.info('commandstats'))?.[1]);
    await (await take(store, 'first')).release();
    await sleep(50);
    const before = await calls();
    await third.server.pause();
    for (let index = 0; index < 200; index += 1) await (await take(store, `key-${index}`)).release();
    await sleep(NODE_TIMEOUT);
    for (let index = 0; index < 200; index += 1) await (await take(store, `late-${index}`)).release();
    third.server.resume();
    await sleep(500);
    const names = await peek.keys('lock:*');
    expect(names).toEqual([]);
    // Of 800 requests those before it counted as silent, what it is told of them later, and a question now and then.
    expect((await calls()) - before).toBeLessThan(100);
  });
});

describe('a withdrawal that comes late', () => {
  it('leaves the votes of a later round alone, and so does a vote that comes late', async () => {
    const backend = await bench.backend(3);
    const peek = bench.peek(backend.nodes[0]!);
    const owner = newOwner();
    const vote = (round: number) => peek.eval(voteScript.source, 1, 'k', owner, round, `${owner}:${round}`, 10_000);
    const withdraw = (round: number) => peek.eval(withdrawScript.source, 1, 'k', owner, round, 'channel');
    expect(await vote(3)).toEqual([1]);
    expect(await withdraw(2)).toBe(0);
    expect(await vote(2)).toMatchObject([0, expect.any(Number), `${owner}:3`]);
    expect(await vote(4)).toEqual([1]);
    expect(await withdraw(4)).toBe(1);
  });

  it('cannot come from a round that was given up: the next votes of that owner are of a new round', async () => {
    const backend = await bench.backend(3);
    const store = await bench.open({ urls: backend.urls });
    const peek = bench.peek(backend.nodes[0]!);
    const owner = newOwner();
    await each(backend.nodes, ({ server }) => server.pause());
    expect((await timed(take(store, 'k', { owner }))).error).toMatchObject({ code: 'LOCK_UNAVAILABLE' });
    await each(backend.nodes, ({ server }) => server.resume());
    await until(async () => Boolean((await timed(take(store, 'k', { owner }))).value));
    expect(await peek.get('lock:k')).toMatch(new RegExp(`^${owner}:[1-9]\\d*:host:1$`));
    const hold = await take(store, 'k', { owner });
    expect(await store.renew!([{ hold, ttl: 10_000 }])).toEqual(['renewed']);
    expect(await hold.release()).toBe(true);
  });
});

describe('time', () => {
  it('counts from when a lock was asked for, however late the answers come', async () => {
    const backend = await bench.backend(3);
    const store = await bench.open({ urls: backend.urls, nodeTimeout: '5s' });
    const slowly = async <T>(ask: () => Promise<T>): Promise<{ asked: number; answer: T }> => {
      await each(backend.nodes, ({ server }) => server.pause());
      const asked = performance.now();
      const answer = ask();
      await sleep(400);
      await each(backend.nodes, ({ server }) => server.resume());
      return { asked, answer: await answer };
    };
    const won = await slowly(() => take(store, 'slow'));
    expect(won.answer.validUntil).toBeLessThan(won.asked + 10_000);
    const renewed = await slowly(() => store.renew!([{ hold: won.answer, ttl: 10_000 }]));
    expect(renewed.answer).toEqual(['renewed']);
    expect(won.answer.validUntil).toBeLessThan(renewed.asked + 10_000);
  });

  it('is up when the nodes answer slower than the ttl: refused as unavailable, and free on all nodes', async () => {
    const backend = await bench.backend(3);
    const store = await bench.open({ urls: backend.urls, nodeTimeout: '5s' });
    await each(backend.nodes, ({ server }) => server.pause());
    const asked = timed(store.acquire(request('slow', { ttl: 1_000 })));
    const { took, error } = await asked;
    expect(error).toMatchObject({ code: 'LOCK_UNAVAILABLE' });
    expect(took).toBeLessThan(1_000 + ROUND);
    await each(backend.nodes, ({ server }) => server.resume());
    await allFree(
      backend.nodes.map((node) => bench.peek(node)),
      'lock:slow',
      700,
    );
  });

  it('is not shortened for its holder by a renewal that only some nodes have heard', async () => {
    const backend = await bench.backend(3);
    const store = await bench.open({ urls: backend.urls });
    const hold = await take(store, 'k', { ttl: 20_000 });
    await each(backend.nodes.slice(1), ({ proxy }) => proxy.cut());
    expect(await store.renew!([{ hold, ttl: 1_000 }])).toEqual(['unknown']);
    expect(hold.validUntil).toBeLessThan(performance.now() + 1_000);
  });
});

describe('a split vote', () => {
  /** Three contenders, of whom each has the vote of another node, and none yet an answer of the others. */
  async function split(wait: boolean) {
    const backend = await bench.backend(3);
    const peeks = backend.nodes.map((node) => bench.peek(node));
    const contenders = await Promise.all(
      backend.nodes.map(async (_, own) => {
        const proxies = await Promise.all(backend.nodes.map(({ server }) => TcpProxy.start(server.port)));
        bench.onEnd(() => Promise.all(proxies.map((proxy) => proxy.stop())));
        const urls = proxies.map(({ port }) => `redis://127.0.0.1:${port}`);
        const store = await bench.open({ urls, nodeTimeout: '2s', pollInterval: '30s' });
        proxies.forEach((proxy, node) => node !== own && proxy.blackHole());
        return { store, heal: () => proxies.forEach((proxy) => proxy.heal()) };
      }),
    );
    const results = contenders.map(({ store }) => store.acquire(request('k', { wait })));
    await until(async () => {
      const owners = await Promise.all(peeks.map((client) => client.get('lock:k')));
      return owners.every(Boolean) && new Set(owners).size === 3;
    });
    const split = performance.now();
    contenders.forEach(({ heal }) => heal());
    return { results, peeks, split };
  }

  it('of three who each have one node is won by one of them soon, and then by the others in turn', async () => {
    const { results, peeks, split: start } = await split(true);
    const waits: number[] = [];
    await Promise.all(
      results.map(async (result) => {
        const { hold } = (await result) as AcquireResult & { acquired: true };
        waits.push(performance.now() - start);
        expect(await hold.release()).toBe(true);
      }),
    );
    expect(waits).toHaveLength(3);
    expect(Math.min(...waits)).toBeLessThan(500);
    expect(Math.max(...waits)).toBeLessThan(2_000);
    await allFree(peeks, 'lock:k');
  });

  it('of three who do not wait goes to exactly one of them, and leaves nothing of the others', async () => {
    const { results, peeks } = await split(false);
    const won = (await Promise.all(results)).flatMap((result) => (result.acquired ? [result.hold] : []));
    expect(won).toHaveLength(1);
    await until(async () => {
      const owners = (await Promise.all(peeks.map((client) => client.get('lock:k')))).filter((owner) => owner !== null);
      return owners.every((owner) => owner.startsWith(won[0]!.owner));
    });
    expect(await won[0]!.release()).toBe(true);
  });
});

describe('several keys', () => {
  it('are held all or not at all: what was taken is free on every node', async () => {
    const backend = await bench.backend(3);
    const [engine, other] = await Promise.all([
      bench.engine({ urls: backend.urls }),
      bench.engine({ urls: backend.urls }),
    ]);
    await other.acquire('b');
    const backendOf = engine.engine.backend('default', 'test');
    const defaults = { ttl: 10_000, renew: true, wait: 300, maxHold: Infinity, minHold: 0, maxWaiters: Infinity };
    const plan = {
      backend: backendOf,
      keys: ['a', 'b'],
      request: defaults,
      reentrant: false,
      onLost: 'report',
    } as const;
    const run = engine.engine.run({ ...plan, onContended: undefined }, () => 'ran');
    expect((await timed(run)).error).toMatchObject({ code: 'LOCK_CONTENDED' });
    await allFree(
      backend.nodes.map((node) => bench.peek(node)),
      'lock:a',
      1_000,
    );
  });
});

it('never lets two hold one key, whatever happens to a minority and to the connections', async () => {
  const backend = await bench.backend(3);
  const options = { urls: backend.urls, nodeTimeout: '100ms' };
  const engines = await Promise.all([1, 2, 3, 4].map(() => bench.engine(options)));
  const keys = ['a', 'b'];
  const holders = new Map<string, { until: number }>();
  const counts = { holds: 0, lost: 0, failed: 0 };
  const overlaps: string[] = [];
  let over = false;
  const work = engines.flatMap((engine) =>
    [...keys, ...keys].map(async (key) => {
      while (!over) {
        const { value: hold } = await timed(engine.acquire(key, { ttl: 1_000, wait: 3_000 }));
        if (hold === undefined) {
          counts.failed += 1;
          continue;
        }
        if (hold.held) {
          counts.holds += 1;
          // One process plays all: nobody else runs between a look at the clock and a look at the holders.
          const before = holders.get(key);
          if (before !== undefined && before.until > performance.now()) overlaps.push(key);
          const self = { until: performance.now() + hold.remaining() };
          holders.set(key, self);
          const end = performance.now() + Math.random() * 10;
          while (performance.now() < end && hold.held) {
            self.until = performance.now() + hold.remaining();
            await sleep(1);
          }
          if (!hold.held) counts.lost += 1;
          if (holders.get(key) === self) holders.delete(key);
        }
        await timed(hold.release());
      }
    }),
  );
  const faults = Object.entries(nodeFaults).filter(([name]) => name !== 'killed');
  for (let round = 0; round < 12; round += 1) {
    const node = backend.nodes[round % 3]!;
    const [, fault] = faults[round % faults.length]!;
    await fault.begin(node);
    await sleep(150 + Math.random() * 300);
    if (round % 3 === 0) node.proxy.cut({ refuse: false });
    await fault.end(node);
    await sleep(Math.random() * 200);
  }
  over = true;
  await Promise.all(work);
  expect(overlaps).toEqual([]);
  expect(counts.holds).toBeGreaterThan(200);
}, 60_000);

describe('a server that is in the list twice', () => {
  it('is refused at the start', async () => {
    const backend = await bench.backend(2);
    const second = await TcpProxy.start(backend.nodes[0]!.server.port);
    bench.onEnd(() => second.stop());
    const store = bench.store({ urls: [...backend.urls, `redis://127.0.0.1:${second.port}`] });
    expect((await timed(store.open())).error).toMatchObject({
      code: 'LOCK_OPTIONS',
      message: expect.stringContaining('are the same server'),
    });
  });

  it('has one vote also when the second of them comes later', async () => {
    const backend = await bench.backend(2);
    const [first, other] = backend.nodes;
    const second = await TcpProxy.start(first!.server.port);
    bench.onEnd(() => second.stop());
    second.cut();
    const store = await bench.open({ urls: [...backend.urls, `redis://127.0.0.1:${second.port}`] });
    second.heal();
    await until(async () => {
      const hold = await take(store, 'k');
      await hold.release();
      return second.connections > 0;
    });
    await sleep(1_000);
    other!.proxy.cut();
    await take(store, 'warm').catch(() => undefined);
    await until(async () => Boolean((await timed(store.acquire(request('k')))).error));
    expect((await timed(store.acquire(request('k')))).error).toMatchObject({ code: 'LOCK_UNAVAILABLE' });
  });
});

describe.each(clientFamilies.map((family) => [family.name, family] as const))('clients of %s', (_, family) => {
  it('stay open and as they were, also when a node was away', async () => {
    const backend = await bench.backend(3);
    const users = await Promise.all(backend.urls.map((url) => family.connect({ url })));
    bench.onEnd(() => users.forEach((user) => user.close()));
    const listeners = () =>
      users.map(({ client }) =>
        ['ready', 'end', 'error', 'close'].map((name) =>
          (client as unknown as { listenerCount(name: string): number }).listenerCount(name),
        ),
      );
    const before = listeners();
    const store = await bench.open({ clients: users.map(({ client }) => client), pollInterval: '30s' });
    const hold = await take(store, 'k');
    await backend.nodes[2]!.server.pause();
    await hold.release();
    const next = await take(store, 'k');
    const waiting = take(store, 'k', { wait: true });
    await sleep(300);
    backend.nodes[2]!.server.resume();
    await next.release();
    await (await waiting).release();
    backend.nodes[1]!.proxy.cut({ refuse: false });
    await until(async () => Boolean((await timed(take(store, 'other'))).value));
    await until(() => JSON.stringify(listeners()) === JSON.stringify(before));
    await store.close();
    for (const user of users) expect(await user.send('PING')).toBe('PONG');
    await until(() => backend.nodes.every(({ proxy }) => proxy.connections === 1));
  });
});

describe('messages', () => {
  it('wake a waiting process, also after its connections were gone, and are not asked for longer than needed', async () => {
    const backend = await bench.backend(3);
    const options = { urls: backend.urls, pollInterval: '30s' };
    // A store tells of nodes that do not answer for a moment, and asks no more by itself: the engine goes on.
    const [a, b] = await Promise.all([bench.open(options), bench.engine(options)]);
    const peek = bench.peek(backend.nodes[0]!);
    const channels = async (): Promise<number> => ((await peek.pubsub('CHANNELS', '*')) as unknown[]).length;
    expect(await channels()).toBe(0);
    const hold = await take(a, 'k', { ttl: 60_000 });
    const waiting = b.acquire('k', { wait: 20_000 });
    await until(async () => (await channels()) === 1);
    backend.nodes.forEach(({ proxy }) => proxy.cut({ refuse: false }));
    await until(async () => (await channels()) === 0);
    await until(async () => (await channels()) === 1);
    await sleep(200);
    const released = performance.now();
    await until(async () => Boolean((await timed(hold.release())).value));
    const next = await waiting;
    expect(performance.now() - released).toBeLessThan(1_000);
    expect(await next.release()).toBe(true);
    await until(async () => (await channels()) === 0);
  });
});

describe('a busy key', () => {
  it('goes round: a process that gives it back and asks again does not keep it to itself', async () => {
    const backend = await bench.backend(3);
    const stores = await Promise.all([1, 2, 3].map(() => bench.open({ urls: backend.urls, pollInterval: '30s' })));
    const turns = [0, 0, 0];
    const total = (): number => turns.reduce((sum, each) => sum + each);
    await Promise.all(
      stores.map(async (store, index) => {
        while (total() < 60) {
          const hold = await take(store, 'k', { wait: true });
          turns[index]! += 1;
          await sleep(5);
          // As the engine does where others of its process wait: the next request is sent right behind the release.
          void hold.release();
        }
      }),
    );
    for (const each of turns) expect(each).toBeGreaterThanOrEqual(10);
  });
});

describe('permissions', () => {
  const rights =
    '-@all ~lock:* &lock:released:* +evalsha +eval +get +set +del +pexpire +pttl +publish +subscribe +unsubscribe +info +ping +quit';

  const allow = (backend: RedlockBackend, granted: string) =>
    each(backend.nodes, async (node) => {
      await bench
        .peek(node)
        .call('ACL', 'SETUSER', 'app', 'on', '>secret', 'resetkeys', 'resetchannels', ...granted.split(' '));
    });
  const asApp = (backend: RedlockBackend) => backend.urls.map((url) => url.replace('redis://', 'redis://app:secret@'));

  it('that the documentation names are enough', async () => {
    const backend = await bench.backend(3);
    await allow(backend, rights);
    const options = { urls: asApp(backend), pollInterval: '30s' };
    const [a, b] = await Promise.all([bench.open(options), bench.open(options)]);
    await works(a, b, 'k', 1_000);
    expect(await a.forceRelease('k')).toBe(false);
  });

  it.each(['+get', '+pexpire', '+publish', '+subscribe', '+info'])(
    'without %s are refused at the start',
    async (right) => {
      const backend = await bench.backend(3);
      await allow(backend, rights.replace(right, ''));
      // ioredis would print a warning of its own.
      const options = { enableReadyCheck: false };
      const { error } = await timed(bench.store({ urls: asApp(backend), options }).open());
      expect(error).toMatchObject({ retryable: false });
      expect(error!.message).toMatch(/NOPERM|permissions|can't run/i);
      expect(error!.message).not.toContain('secret');
    },
  );
});
