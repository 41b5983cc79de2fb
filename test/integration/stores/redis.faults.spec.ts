import { inspect } from 'node:util';
import { afterEach, describe, expect, it } from '@jest/globals';
import type { LockStore, StoreHold } from '../../../lib/contract/index.js';
import { redisStore } from '../../../lib/stores/redis/index.js';
import { clientFamilies, type ClientFamily, type TestClient } from '../../support/redis-clients.js';
import { newOwner, request, take, until } from '../../support/redis-requests.js';
import { freePort, RedisServer } from '../../support/redis-server.js';
import { TcpProxy } from '../../support/tcp-proxy.js';
import { TestEngine } from '../../support/test-engine.js';

const cleanUps: (() => unknown)[] = [];
const stray: unknown[] = [];
const onStray = (error: unknown) => stray.push(error);
process.on('unhandledRejection', onStray);
process.on('warning', onStray);

afterEach(async () => {
  for (const cleanUp of cleanUps.splice(0).reverse()) await cleanUp();
  expect(stray.splice(0)).toEqual([]);
});

async function startServer(options: Parameters<typeof RedisServer.start>[0] = {}): Promise<RedisServer> {
  const server = await RedisServer.start(options);
  cleanUps.push(() => server.stop());
  return server;
}

async function startProxy(server: RedisServer): Promise<TcpProxy> {
  const proxy = await TcpProxy.start(server.port);
  cleanUps.push(() => proxy.stop());
  return proxy;
}

async function openWith(family: ClientFamily, port: number, options: object = {}) {
  const user = await family.connect({ url: `redis://127.0.0.1:${port}` });
  cleanUps.push(() => user.close());
  const store = redisStore({ client: user.client, commandTimeout: 300, ...options });
  cleanUps.push(() => store.close());
  await store.open();
  return { user, store };
}

async function openUrl(url: string, options: object = {}): Promise<LockStore> {
  const store = redisStore({ url, commandTimeout: 300, ...options });
  cleanUps.push(() => store.close());
  await store.open();
  return store;
}

interface Failure {
  readonly message: string;
}

async function timed<T>(promise: Promise<T>): Promise<{ took: number; value?: T; error?: Failure }> {
  const start = performance.now();
  const settled = await promise.then(
    (value) => ({ value }),
    (error: unknown) => ({ error: error as Failure }),
  );
  return { took: performance.now() - start, ...settled };
}

/** How many listeners of each kind a user's client has. */
function listeners({ client }: TestClient): Record<string, number> {
  const emitter = client as unknown as { listenerCount(name: string): number };
  return Object.fromEntries(['ready', 'end', 'error', 'close'].map((name) => [name, emitter.listenerCount(name)]));
}

/** The acquire script's answer, and not a message or an answer on the other connection. */
const isWin = (reply: Buffer) => reply.toString().startsWith('*2\r\n:1\r\n');

describe.each(clientFamilies.map((family) => [family.name, family] as const))('with %s', (_, family) => {
  it('takes a server that has gone in the middle of a wait for an outage, and not for a lock that is held', async () => {
    const server = await startServer();
    const options = { pollInterval: '30s', commandTimeout: '2s' };
    const { store: holder } = await openWith(family, server.port, options);
    await take(holder, 'a');
    const engine = new TestEngine((await openWith(family, server.port, options)).store);
    cleanUps.push(() => engine.close());
    await engine.engine.open();
    const waiting = timed(engine.acquire('a', { wait: 1_000 }));
    await until(async () => (await holder.inspect('a'))?.waiters === 1);
    await server.kill();
    expect((await waiting).error).toMatchObject({ code: 'LOCK_UNAVAILABLE', retryable: true });
  });

  it('answers in bounded time while the server is dead, and recovers by itself', async () => {
    const server = await startServer();
    const { user, store } = await openWith(family, server.port);
    const before = listeners(user);
    const hold = await take(store, 'a');
    await server.kill();
    await until(async () => Boolean((await timed(store.acquire(request('b')))).error));
    const results = await Promise.all([
      ...Array.from({ length: 30 }, () => timed(store.acquire(request('b')))),
      timed(store.acquire(request('b', { wait: true }))),
      timed(hold.release()),
      timed(store.abandon('b', newOwner())),
      timed(store.inspect('b')),
      timed(store.forceRelease('b')),
    ]);
    for (const { took, error } of results) {
      expect(took).toBeLessThan(500);
      expect(error).toMatchObject({ code: 'LOCK_UNAVAILABLE', retryable: true });
    }
    expect(results[0].error?.message).toMatch(/^redis at 127\.0\.0\.1:\d+ is not reachable \(status \w+\)/);
    expect(await store.renew!([{ hold, ttl: 1_000 }])).toEqual(['unknown']);
    expect(listeners(user)).toEqual(before);
    await server.run();
    await until(async () => Boolean((await timed(store.acquire(request('c')))).value));
    // Nothing was kept in a queue and sent later.
    expect(await user.send('EXISTS', '{lock:a}', '{lock:b}')).toBe(0);
    // Woken by push again: it has subscribed anew.
    const next = await take(store, 'd');
    const asked = request('d', { wait: true });
    const waiting = timed(store.acquire(asked));
    await until(async () => ((await user.send('PUBSUB', 'CHANNELS')) as unknown[]).length === 1);
    await until(() => asked.statuses.length > 0);
    const released = performance.now();
    await next.release();
    await waiting;
    expect(performance.now() - released).toBeLessThan(500);
  });

  it('answers in bounded time while the server is frozen, and what comes late does no harm', async () => {
    const server = await startServer();
    const { user, store } = await openWith(family, server.port);
    const hold = await take(store, 'a');
    await server.pause();
    cleanUps.push(() => server.resume());
    const owner = newOwner();
    const results = await Promise.all([
      timed(store.acquire(request('b', { owner }))),
      timed(store.acquire(request('c', { wait: true }))),
      timed(store.inspect('a')),
      timed(store.renew!([{ hold, ttl: 1_000 }])),
      timed(hold.release()),
    ]);
    for (const { took } of results) expect(took).toBeLessThan(500);
    expect(results[0].error).toMatchObject({ code: 'LOCK_UNAVAILABLE', retryable: true });
    expect(results[0].error?.message).toMatch(/did not answer within 300 ms/);
    expect(results[3].value).toEqual(['unknown']);
    const abandoned = timed(store.abandon('b', owner));
    server.resume();
    // The acquisition that was given up won in the meantime; the abandonment came after it.
    expect((await abandoned).error).toBeUndefined();
    expect(await user.send('EXISTS', '{lock:b}')).toBe(0);
    expect(await user.send('EXISTS', '{lock:a}')).toBe(0);
  });

  it('cleans up a win whose answer was lost on the wire', async () => {
    const server = await startServer();
    const proxy = await startProxy(server);
    const { store } = await openWith(family, proxy.port);
    const other = (await openWith(family, server.port)).store;
    const owner = newOwner();
    const dropped = proxy.dropNextReply(isWin);
    const lost = await timed(store.acquire(request('a', { owner })));
    await dropped;
    expect(lost.error).toMatchObject({ code: 'LOCK_UNAVAILABLE' });
    expect((await other.inspect('a'))?.owner).toBe(owner);
    proxy.cut({ refuse: false });
    await until(async () => !(await timed(store.abandon('a', owner))).error);
    expect(await other.inspect('a')).toBeUndefined();
    await take(other, 'a');
  });

  it('finds a win whose answer was lost when asked again, with its token', async () => {
    const server = await startServer();
    const proxy = await startProxy(server);
    const { store } = await openWith(family, proxy.port);
    const other = (await openWith(family, server.port)).store;
    const owner = newOwner();
    void proxy.dropNextReply(isWin);
    await timed(store.acquire(request('a', { owner, wait: true })));
    const { fence } = (await other.inspect('a'))!;
    proxy.cut({ refuse: false });
    let again: StoreHold | undefined;
    await until(async () => Boolean((again = (await timed(take(store, 'a', { owner, wait: true }))).value)));
    expect(again!.fence).toBe(fence);
  });

  it('is not out of time only because the process was blocked', async () => {
    const server = await startServer();
    const { store } = await openWith(family, server.port);
    const answer = take(store, 'a');
    const until = performance.now() + 500;
    await new Promise((resolve) => setImmediate(resolve));
    while (performance.now() < until);
    expect((await answer).fence).toBeDefined();
  });

  it('is not open when it cannot connect in time, and opens when asked again', async () => {
    const port = await freePort();
    const user = await family.connect({ url: `redis://127.0.0.1:${port}` });
    cleanUps.push(() => user.close());
    const store = redisStore({ client: user.client, connectTimeout: '300ms' });
    cleanUps.push(() => store.close());
    const { took, error } = await timed(store.open());
    expect(took).toBeLessThan(600);
    expect(error).toMatchObject({ code: 'LOCK_UNAVAILABLE', retryable: true });
  });
});

describe('a waiting process', () => {
  it('keeps its place when it asks again after the connection was gone', async () => {
    const server = await startServer();
    const proxy = await startProxy(server);
    const direct = await openUrl(server.url);
    const store = await openUrl(`redis://127.0.0.1:${proxy.port}`, { pollInterval: '200ms' });
    const hold = await take(direct, 'a');
    const asked = request('a', { wait: true });
    const waiting = timed(store.acquire(asked));
    await until(() => asked.statuses.length > 0);
    const later = request('a', { wait: true });
    const behind = timed(direct.acquire(later));
    await until(() => later.statuses.length > 0);
    proxy.cut();
    expect((await waiting).error).toMatchObject({ code: 'LOCK_UNAVAILABLE', retryable: true });
    proxy.heal();
    // As the engine does: the same owner.
    let again = request('a', { wait: true, owner: asked.owner });
    const retry = (async () => {
      for (;;) {
        const result = await timed(store.acquire(again));
        if (!result.error) return result.value!;
        again = request('a', { wait: true, owner: asked.owner });
      }
    })();
    await until(() => again.statuses.length > 0);
    await hold.release();
    const won = await retry;
    expect(won.acquired).toBe(true);
    expect(won.acquired && (await won.hold.release())).toBe(true);
    expect((await behind).value).toMatchObject({ acquired: true });
  });

  it('is aborted at once while it waits for the connection', async () => {
    const server = await startServer();
    const store = await openUrl(server.url, { commandTimeout: '10s' });
    await server.kill();
    // Until the client knows.
    await new Promise((resolve) => setTimeout(resolve, 50));
    const abort = new AbortController();
    const waiting = timed(store.acquire(request('a', { wait: true, signal: abort.signal })));
    setTimeout(() => abort.abort(), 100);
    expect((await waiting).took).toBeLessThan(400);
  });

  it('is rejected by close, also while it waits for the connection', async () => {
    const server = await startServer();
    const store = await openUrl(server.url, { commandTimeout: '10s', pollInterval: '10s' });
    await take(store, 'a');
    const asked = request('a', { wait: true });
    const asleep = timed(store.acquire(asked));
    await until(() => asked.statuses.length > 0);
    await server.kill();
    await new Promise((resolve) => setTimeout(resolve, 50));
    const unconnected = timed(store.inspect('b'));
    const closed = await timed(store.close());
    expect(closed.error).toBeUndefined();
    expect(closed.took).toBeLessThan(500);
    for (const settled of await Promise.all([asleep, unconnected])) {
      expect(settled.error).toMatchObject({ code: 'LOCK_UNAVAILABLE', retryable: false });
    }
  });

  it('survives that its process cannot be told: the poll finds the grant', async () => {
    const server = await startServer();
    const proxy = await startProxy(server);
    const holder = await openUrl(server.url);
    const store = await openUrl(`redis://127.0.0.1:${proxy.port}`, { pollInterval: '300ms' });
    const hold = await take(holder, 'a');
    const asked = request('a', { wait: true });
    const waiting = timed(store.acquire(asked));
    await until(() => asked.statuses.length > 0);
    const dropped = proxy.dropNextReply((reply) => reply.includes(asked.owner));
    const released = performance.now();
    await hold.release();
    await dropped;
    expect((await waiting).value).toMatchObject({ acquired: true });
    expect(performance.now() - released).toBeLessThan(700);
  });
});

describe('fencing tokens', () => {
  it.each([
    ['kept', true],
    ['lost', false],
  ])('increase over a restart that has %s the data', async (_, persist) => {
    const server = await startServer({ persist });
    const store = await openUrl(server.url);
    const first = await take(store, 'a');
    await first.release();
    await server.restart();
    let second: StoreHold | undefined;
    await until(async () => Boolean((second = (await timed(take(store, 'a'))).value)));
    expect(second!.fence! > first.fence!).toBe(true);
  });
});

describe('a client of our own', () => {
  it('connects anew when a network swallows everything', async () => {
    const server = await startServer();
    const proxy = await startProxy(server);
    const store = await openUrl(`redis://127.0.0.1:${proxy.port}`, { commandTimeout: '200ms' });
    proxy.blackHole();
    expect((await timed(store.acquire(request('a')))).error).toMatchObject({ retryable: true });
    const connections = proxy.connections;
    await until(async () => {
      await timed(store.inspect('a'));
      return proxy.connections < connections;
    });
    proxy.heal();
    await until(async () => Boolean((await timed(store.acquire(request('b')))).value));
  });

  it('is closed with the store', async () => {
    const server = await startServer();
    const proxy = await startProxy(server);
    const store = await openUrl(`redis://127.0.0.1:${proxy.port}`);
    expect(proxy.connections).toBe(2);
    await store.close();
    await until(() => proxy.connections === 0);
  });

  it('is closed when opening fails', async () => {
    const server = await startServer({ args: ['--requirepass', 'right'] });
    const proxy = await startProxy(server);
    const store = redisStore({ url: `redis://:wr0ng-secret@127.0.0.1:${proxy.port}` });
    const error = (await timed(store.open())).error;
    expect(error).toMatchObject({ code: 'LOCK_UNAVAILABLE', retryable: false });
    expect(error?.message).toContain('WRONGPASS');
    expect(inspect(error, { depth: 20, showHidden: true })).not.toContain('wr0ng');
    await until(() => proxy.connections === 0);
    let connected = 0;
    const watch = setInterval(() => (connected = Math.max(connected, proxy.connections)), 1);
    await new Promise((resolve) => setTimeout(resolve, 500));
    clearInterval(watch);
    expect(connected).toBe(0);
  });
});
