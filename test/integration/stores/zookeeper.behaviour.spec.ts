import { once } from 'node:events';
import { createServer, type AddressInfo } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, afterEach, describe, expect, test } from '@jest/globals';
import { ACL, createClient, type Client } from 'node-zookeeper-client';
import type { LockStore } from '../../../lib/contract/index.js';
import { LockErrorCode } from '../../../lib/errors/index.js';
import { memoryStore } from '../../../lib/stores/memory/index.js';
import {
  zookeeperStore,
  type ZookeeperLockStore,
  type ZookeeperStoreOptions,
} from '../../../lib/stores/zookeeper/index.js';
import { kill } from '../../../lib/stores/zookeeper/zookeeper.mending.js';
import { keyNode } from '../../../lib/stores/zookeeper/zookeeper.names.js';
import { ownClient } from '../../../lib/stores/zookeeper/zookeeper.own-client.js';
import { newOwner, request, take, until } from '../../support/redis-requests.js';
import { TcpProxy } from '../../support/tcp-proxy.js';
import { TestEngine } from '../../support/test-engine.js';
import { connectedClient, ZookeeperBackend } from '../../support/zookeeper-backend.js';
import { TICK_TIME, ZookeeperServer } from '../../support/zookeeper-server.js';

const backend = await ZookeeperBackend.start({
  // Empty containers go at once, however many there are.
  properties: ['-Dznode.container.checkIntervalMs=500', '-Dznode.container.maxPerMinute=10000000'],
  config: ['enforceQuota=true'],
});
const operator = await connectedClient(backend.directUrl);
afterAll(async () => {
  operator.close();
  await backend.stop();
});

const cleanUps: (() => unknown)[] = [];
afterEach(async () => {
  backend.proxy.heal();
  for (const cleanUp of cleanUps.splice(0).reverse()) await cleanUp();
});

const SESSION = 4 * TICK_TIME;
let roots = 0;
const newRoot = (): string => `/behaviour-${process.pid}-${(roots += 1)}`;
let keys = 0;
const newKey = (): string => `behaviour:${(keys += 1)}`;

function made(options: Partial<ZookeeperStoreOptions> = {}): ZookeeperLockStore {
  const source = options.client ? {} : { connectionString: backend.directUrl, sessionTimeout: SESSION };
  const store = zookeeperStore({
    ...source,
    tickTime: TICK_TIME,
    commandTimeout: '1s',
    pollInterval: '30s',
    ...options,
  });
  cleanUps.push(() => store.close());
  return store;
}

async function open(options: Partial<ZookeeperStoreOptions> = {}): Promise<ZookeeperLockStore> {
  const store = made(options);
  await store.open();
  return store;
}

async function engine(
  options: Partial<ZookeeperStoreOptions> = {},
): Promise<TestEngine & { store: ZookeeperLockStore }> {
  const started = new TestEngine(made(options));
  cleanUps.push(() => started.close());
  await started.engine.open();
  return started as TestEngine & { store: ZookeeperLockStore };
}

async function client(options: object = {}): Promise<Client> {
  const connected = await connectedClient(backend.directUrl, options);
  cleanUps.push(() => connected.close());
  return connected;
}

const children = (path: string): Promise<string[]> =>
  new Promise((resolve) => operator.getChildren(path, undefined, (error, names) => resolve(error ? [] : names)));

const remove = (path: string): Promise<void> =>
  new Promise((resolve, reject) => operator.remove(path, -1, (error) => (error ? reject(error) : resolve())));

const create = (path: string, data?: string): Promise<void> =>
  new Promise((resolve, reject) =>
    operator.create(path, data === undefined ? undefined : Buffer.from(data), undefined, undefined, (error) =>
      error ? reject(error) : resolve(),
    ),
  );

const entries = (root: string, key: string): Promise<string[]> => children(`${root}/${keyNode(key)}`);

async function queue(store: LockStore, root: string, key: string) {
  const controller = new AbortController();
  const asked = request(key, { wait: true, signal: controller.signal });
  const before = (await entries(root, key)).length;
  const result = store.acquire(asked);
  result.catch(() => undefined);
  await until(async () => (await entries(root, key)).length > before && asked.statuses.length > 0);
  return { asked, result, abort: () => controller.abort(new Error('nobody waits')) };
}

/** Ends a client's session at the server, behind its back. */
async function endSession(of: Client): Promise<void> {
  let over = false;
  of.once('expired', () => (over = true));
  const options = { sessionId: of.getSessionId(), sessionPassword: (of as unknown as Secret).getSessionPassword() };
  // The two take the session from one another.
  while (!over) {
    const other = createClient(backend.directUrl, { ...options, sessionTimeout: 10_000, spinDelay: 1 });
    other.once('connected', () => other.close());
    other.connect();
    await sleep(200);
    kill(other as never);
  }
}

interface Secret {
  getSessionPassword(): Buffer;
}

function block(duration: number): void {
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, duration);
}

/** The longest time, in ms, for which no timer could run within the next `duration` ms. */
async function longestBlock(duration: number): Promise<number> {
  const end = performance.now() + duration;
  let longest = 0;
  for (let last = performance.now(); last < end;) {
    await sleep(5);
    const now = performance.now();
    longest = Math.max(longest, now - last);
    last = now;
  }
  return longest;
}

/** When the entry of a key is gone at the server. */
async function freed(root: string, key: string): Promise<number> {
  while ((await entries(root, key)).length > 0) await sleep(5);
  return performance.now();
}

describe('a session', () => {
  test('that is cut off from the servers is told lost before they end it, and a new one takes the key again', async () => {
    const root = newRoot();
    const key = newKey();
    const { acquire } = bound(await engine({ connectionString: backend.url, root }));
    const hold = await acquire(key);
    const lost = once(hold.signal, 'abort').then(() => performance.now());
    const gone = freed(root, key);
    backend.proxy.blackHole();
    expect(await lost).toBeLessThan(await gone);
    expect(hold.held).toBe(false);
    expect(await hold.release()).toBe(false);
    backend.proxy.heal();
    const next = await acquire(key, { wait: 10_000 });
    expect(next.fencingToken > hold.fencingToken).toBe(true);
    expect(await next.release()).toBe(true);
  });

  test('is certain for its time from what was sent, however late the answers come', async () => {
    const { acquire } = bound(await engine({ connectionString: backend.url, root: newRoot() }));
    const hold = await acquire(newKey());
    for (let round = 0; round < 3; round += 1) {
      await sleep(0.4 * SESSION);
      const silentSince = performance.now();
      backend.proxy.blackHole();
      // Less than what it takes to give the connection up.
      await sleep(0.25 * SESSION);
      backend.proxy.heal();
      const healed = performance.now();
      await sleep(50);
      const certain = performance.now() + hold.remaining() - silentSince;
      // What is sent after this has been answered by now: nothing can be said on a machine that is so busy.
      if (performance.now() - healed < 200) expect(certain).toBeLessThanOrEqual(SESSION);
    }
    expect(await hold.release()).toBe(true);
  });

  test('goes on by way of another server when its own is silent', async () => {
    const root = newRoot();
    const key = newKey();
    const ways = [await proxy(), await proxy()];
    const connectionString = ways.map(({ port }) => `127.0.0.1:${port}`).join(',');
    const { acquire } = bound(await engine({ connectionString, root }));
    const hold = await acquire(key);
    for (let round = 0; round < 2; round += 1) {
      const used = ways.find(({ connections }) => connections > 0);
      used?.blackHole();
      await sleep(1.5 * SESSION);
      expect(hold.held).toBe(true);
      used?.cut({ refuse: false });
      used?.heal();
    }
    expect(await hold.release()).toBe(true);
  });

  test('does not wait for a server that takes connections and says nothing', async () => {
    const silent = createServer((socket) => socket.on('error', () => undefined));
    silent.listen(0, '127.0.0.1');
    await once(silent, 'listening');
    cleanUps.push(() => silent.close());
    const port = (silent.address() as AddressInfo).port;
    // The library goes through them in an order of its own: one of these begins with the silent one.
    for (let round = 0; round < 4; round += 1) {
      const started = performance.now();
      const store = await open({ connectionString: `127.0.0.1:${port},${backend.directUrl}`, root: newRoot() });
      expect(performance.now() - started).toBeLessThan(2 * SESSION);
      await store.close();
    }
  });

  test('outlives a frame that is cut off with its connection', async () => {
    const way = await proxy();
    const connectionString = `127.0.0.1:${way.port}`;
    const own = await ownClient({ connectionString, sessionTimeout: SESSION, auth: [] });
    cleanUps.push(() => kill(own));
    own.connect();
    await once(own as never, 'connected');
    const session = own.getSessionId();
    // As of a long list of children, of which only the beginning arrives.
    Object.assign(own.connectionManager ?? {}, { pendingBuffer: Buffer.from([0, 0, 1, 0, 0, 0]) });
    way.cut({ refuse: false });
    await once(own as never, 'connected');
    expect(own.getSessionId()).toEqual(session);
    await new Promise<void>((resolve, reject) =>
      own.getChildren('/', undefined, (error) => (error ? reject(error) : resolve())),
    );
  });

  test('finds itself over on the next line after the process was blocked for longer', async () => {
    const root = newRoot();
    const key = newKey();
    const { acquire } = bound(await engine({ root }));
    const hold = await acquire(key);
    block(1.2 * SESSION);
    expect(hold.held).toBe(false);
    expect(() => hold.throwIfLost()).toThrow(expect.objectContaining({ code: LockErrorCode.Lost }));
    expect(await hold.release()).toBe(false);
    const next = await acquire(key);
    expect(next.held).toBe(true);
  });

  test('that counted as over leaves nothing held when the server has kept it', async () => {
    const root = newRoot();
    const key = newKey();
    const owner = newOwner();
    // Ten seconds at the server; here it counts as over much sooner.
    const own = await client({ sessionTimeout: 10_000 });
    const getSessionTimeout = (): number => 1_000;
    const impatient = Object.create(own, { getSessionTimeout: { value: getSessionTimeout } }) as Client;
    const store = await open({ client: impatient, root });
    const hold = await take(store, key, { owner });
    const told = new Promise<void>((resolve) => (hold.onLost = () => resolve()));
    block(1_200);
    await told;
    expect(hold.validUntil).toBe(-Infinity);
    await until(async () => (await entries(root, key)).length === 0);
    await take(store, key);
  });

  test('is made anew after the servers have lost all data', async () => {
    const server = await ZookeeperServer.start();
    cleanUps.push(() => server.stop());
    const options = { connectionString: server.url, sessionTimeout: 2 * TICK_TIME };
    const { acquire } = bound(await engine({ ...options, root: newRoot() }));
    await (await acquire(newKey())).release();
    await server.restartEmpty();
    const hold = await acquire(newKey(), { wait: 20_000 });
    expect(await hold.release()).toBe(true);
  });
});

describe('the queue', () => {
  test('wakes one waiter for each release, and those behind it not at all', async () => {
    const root = newRoot();
    const key = newKey();
    const looks: string[] = [];
    const stores: LockStore[] = [];
    for (let index = 0; index < 6; index += 1) {
      const own = await client();
      const getChildren = (path: string, ...args: never[]): void => {
        looks.push(`${index}`);
        (own.getChildren as (...all: unknown[]) => void)(path, ...args);
      };
      stores.push(await open({ client: Object.create(own, { getChildren: { value: getChildren } }) as Client, root }));
    }
    let hold = await take(stores[0]!, key);
    const waiters = [];
    for (const store of stores.slice(1)) waiters.push(await queue(store, root, key));
    for (const [index, { result }] of waiters.entries()) {
      looks.length = 0;
      expect(await hold.release()).toBe(true);
      const next = await result;
      if (!next.acquired) throw new Error('it was refused');
      hold = next.hold;
      await sleep(50);
      expect(looks).toEqual([`${index + 1}`]);
    }
    await hold.release();
  });

  test('closes up when a waiter in the middle goes, by giving up or with its session', async () => {
    const root = newRoot();
    const key = newKey();
    const doomed = await client();
    const [a, b, c, d, e] = [
      await open({ root }),
      await open({ root }),
      await open({ root, client: doomed }),
      await open({ root }),
      await open({ root }),
    ];
    const hold = await take(a, key);
    const first = await queue(b, root, key);
    const killed = await queue(c, root, key);
    const last = await queue(d, root, key);
    const gaveUp = await queue(e, root, key);
    const end = await queue(a, root, key);
    await endSession(doomed);
    gaveUp.abort();
    await expect(gaveUp.result).rejects.toThrow();
    await e.abandon(key, gaveUp.asked.owner);
    await until(async () => (await entries(root, key)).length === 4);
    await hold.release();
    const order: string[] = [];
    for (const [name, { result }] of Object.entries({ first, last, end })) {
      const next = await result;
      order.push(name);
      expect(await entries(root, key)).toHaveLength(4 - order.length);
      if (next.acquired) expect(await next.hold.release()).toBe(true);
    }
    killed.abort();
    await expect(killed.result).rejects.toThrow();
    await take(a, key);
  });

  test('never trusts an entry of an earlier session, and removes it', async () => {
    const root = newRoot();
    const key = newKey();
    const owner = newOwner();
    const store = await open({ connectionString: backend.url, root });
    backend.proxy.dropReplies();
    await expect(store.acquire(request(key, { owner }))).rejects.toMatchObject({ code: LockErrorCode.Unavailable });
    const [old] = await entries(root, key);
    expect(old?.startsWith(owner)).toBe(true);
    backend.proxy.blackHole();
    await sleep(2 * SESSION);
    backend.proxy.heal();
    // As if it had been left by the session before: this one is the operator's.
    const planted = `${root}/${keyNode(key)}/${owner}-0000000000`;
    await until(async () => (await entries(root, key)).length === 0);
    if ((await children(root)).length === 0) await create(`${root}/${keyNode(key)}`);
    await create(planted);
    let fence = 0n;
    await until(async () => {
      const result = await store.acquire(request(key, { owner })).catch(() => undefined);
      if (result?.acquired) fence = result.hold.fence ?? 0n;
      return fence > 0n;
    });
    const [own, ...others] = await entries(root, key);
    expect(others).toEqual([]);
    expect(`${root}/${keyNode(key)}/${own}`).not.toBe(planted);
  });

  test('is not blocked by entries of a living session that nobody knows of', async () => {
    const root = newRoot();
    const key = newKey();
    const made: Client[] = [];
    const prototype = Object.getPrototypeOf(operator) as Client;
    const { connect } = prototype;
    prototype.connect = function (this: Client) {
      made.push(this);
      connect.call(this);
    };
    const store = await open({ root, pollInterval: '300ms' });
    prototype.connect = connect;
    for (let round = 0; round < 3; round += 1) await (await take(store, key)).release();
    const plant = (owner: string, number: number): Promise<void> =>
      new Promise((resolve, reject) =>
        made[0]?.create(`${root}/${keyNode(key)}/${owner}-000000000${number}`, undefined, undefined, 1, (error) =>
          error ? reject(error) : resolve(),
        ),
      );
    await plant(newOwner(), 0);
    const hold = await store.acquire(request(key, { wait: true }));
    if (!hold.acquired) throw new Error('it was refused');
    const waiter = request(key, { wait: true });
    const waiting = store.acquire(waiter);
    await until(async () => (await entries(root, key)).length === 2);
    await plant(waiter.owner, 1);
    expect(await hold.hold.release()).toBe(true);
    expect((await waiting).acquired).toBe(true);
    expect(await entries(root, key)).toHaveLength(1);
  });

  test('keeps its order where the numbers wrap around', async () => {
    const root = newRoot();
    const key = newKey();
    const store = await open({ root });
    await (await take(store, key)).release();
    const parent = `${root}/${keyNode(key)}`;
    await create(`${parent}/${newOwner()}--2147483648`);
    const first = `${newOwner()}-2147483647`;
    await create(`${parent}/${first}`);
    expect(await store.inspect(key)).toMatchObject({ owner: first.slice(0, 32), waiters: 1 });
    expect(await store.forceRelease(key)).toBe(true);
    expect(await entries(root, key)).toEqual([expect.stringMatching(/--2147483648$/)]);
  });

  test('tells a holder at once when its entry is removed by hand', async () => {
    const root = newRoot();
    const key = newKey();
    const { acquire } = bound(await engine({ root }));
    const hold = await acquire(key);
    const lost = once(hold.signal, 'abort');
    await remove(`${root}/${keyNode(key)}/${(await entries(root, key))[0]}`);
    await lost;
    expect(hold.held).toBe(false);
    expect(await hold.release()).toBe(false);
  });

  test('shows an operator whose entry is which', async () => {
    const root = newRoot();
    const store = await open({ root });
    const key = 'a/b ключ\u0000'.repeat(1_000);
    const hold = await take(store, key, { label: 'hôst:1' });
    const [name] = await entries(root, key);
    expect(name).toMatch(new RegExp(`^${hold.owner}-\\d{10}$`));
    const data = await new Promise<string>((resolve, reject) =>
      operator.getData(`${root}/${keyNode(key)}/${name}`, undefined, (error, value) =>
        error ? reject(error) : resolve(String(value)),
      ),
    );
    expect(JSON.parse(data)).toEqual({ label: 'hôst:1', key: key.slice(0, 200) });
  });
});

describe('who may do what', () => {
  test('locks for their creator only', async () => {
    const root = newRoot();
    const secret = { acl: ACL.CREATOR_ALL_ACL, auth: [{ scheme: 'digest', auth: 'app:secret' }] };
    const store = await open({ root, ...secret });
    const key = newKey();
    const hold = await take(store, key);
    expect(await children(root)).toEqual([]);
    const stranger = made({ root });
    await expect(stranger.open()).rejects.toMatchObject({ code: LockErrorCode.Unavailable, retryable: false });
    const colleague = await open({ root, ...secret });
    expect((await colleague.acquire(request(key))).acquired).toBe(false);
    expect(await hold.release()).toBe(true);
  });

  test('an ACL for the creator needs one that is known', async () => {
    const opened = made({ root: newRoot(), acl: ACL.CREATOR_ALL_ACL }).open();
    await expect(opened).rejects.toMatchObject({ code: LockErrorCode.Unavailable, retryable: false });
  });

  test('the credentials are sent ahead of everything on a new connection', async () => {
    const root = newRoot();
    const way = await proxy();
    const secret = { acl: ACL.CREATOR_ALL_ACL, auth: [{ scheme: 'digest', auth: 'app:secret' }] };
    const store = await open({ connectionString: `127.0.0.1:${way.port}`, root, ...secret });
    for (let round = 0; round < 5; round += 1) {
      way.cut({ refuse: false });
      let taken = false;
      await until(async () => {
        taken = await take(store, newKey()).then(
          () => true,
          (error: unknown) => {
            if (!(error as { retryable: boolean }).retryable) throw error;
            return false;
          },
        );
        return taken;
      });
    }
  });

  test('a chroot', async () => {
    const chroot = newRoot();
    const store = made({ connectionString: `${backend.directUrl}${chroot}`, root: '/deep/locks' });
    await expect(store.open()).rejects.toMatchObject({
      code: LockErrorCode.Unavailable,
      retryable: false,
      message: expect.stringContaining(`the chroot "${chroot}" does not exist`),
    });
    await create(chroot);
    await store.open();
    const other = await open({ connectionString: `${backend.directUrl}${chroot}`, root: '/deep/locks' });
    const key = newKey();
    const hold = await take(store, key);
    expect(await entries(`${chroot}/deep/locks`, key)).toHaveLength(1);
    const waiter = await queue(other, `${chroot}/deep/locks`, key);
    await hold.release();
    expect((await waiter.result).acquired).toBe(true);
  });

  test('a refusal that the library has no name for ends a request, not the process', async () => {
    const root = newRoot();
    const store = await open({ root });
    const limited = `/zookeeper/quota${root}`;
    await create(limited);
    await create(`${limited}/zookeeper_limits`, 'count=1,bytes=-1,countHardLimit=1');
    await create(`${limited}/zookeeper_stats`, 'count=1,bytes=0');
    const hold = await take(store, newKey()).catch((error: unknown) => error);
    expect(hold).toMatchObject({
      code: LockErrorCode.Unavailable,
      cause: { message: expect.stringContaining('-125') },
    });
    await remove(`${limited}/zookeeper_limits`);
    await remove(`${limited}/zookeeper_stats`);
    await until(() => take(store, newKey()).then(Boolean, () => false));
  });
});

describe('a guarded transaction', () => {
  const balance = `/balance-${process.pid}`;
  const write = (guard: ReturnType<ZookeeperLockStore['guardTxn']>, value: string): Promise<string> =>
    new Promise((resolve) => {
      const transaction = operator.transaction();
      for (const check of guard) transaction.check(...check);
      transaction
        .setData(balance, Buffer.from(value))
        .commit((error) => resolve(error ? `refused (${error.code})` : 'done'));
    });

  test('of a holder is carried out, of one who has lost the lock unknowingly is not', async () => {
    await create(balance, '0');
    const root = newRoot();
    const key = newKey();
    const [{ acquire, store }, second] = [bound(await engine({ root })), bound(await engine({ root }))];
    const hold = await acquire(key);
    const guard = store.guardTxn(hold);
    expect(await write(guard, '1')).toBe('done');
    // Taken away behind its back; this process has had no turn to hear of it.
    await second.store.forceRelease(key);
    const next = await second.acquire(key);
    expect(await write(guard, '2')).toBe('refused (-101)');
    expect(await write(second.store.guardTxn(next), '3')).toBe('done');
    await until(() => !hold.held);
    expect(() => store.guardTxn(hold)).toThrow(expect.objectContaining({ code: LockErrorCode.Lost }));
    await next.release();
    expect(() => second.store.guardTxn(next)).toThrow(expect.objectContaining({ code: LockErrorCode.Lost }));
  });

  test('knows the locks of its own store, also after a hand-off within the process', async () => {
    const root = newRoot();
    const key = newKey();
    const [one, other] = [bound(await engine({ root })), bound(await engine({ root: newRoot() }))];
    const hold = await one.acquire(key);
    const foreign = await other.acquire(key);
    const waiting = one.acquire(key);
    expect(() => one.store.guardTxn(foreign)).toThrow(expect.objectContaining({ code: LockErrorCode.Options }));
    const memory = new TestEngine(memoryStore());
    cleanUps.push(() => memory.close());
    const elsewhere = [await other.acquire(newKey()), await memory.acquire(key), await memory.acquire(newKey())];
    for (const lock of elsewhere) {
      const refused = { code: LockErrorCode.Options, message: expect.stringContaining('is of another store') };
      expect(() => one.store.guardTxn(lock)).toThrow(expect.objectContaining(refused));
    }
    expect(() => one.store.guardTxn({} as never)).toThrow(
      expect.objectContaining({ code: LockErrorCode.Options, message: expect.stringContaining('an object (Object)') }),
    );
    await hold.release();
    const next = await waiting;
    expect(() => one.store.guardTxn(hold)).toThrow(expect.objectContaining({ code: LockErrorCode.Lost }));
    expect(await write(one.store.guardTxn(next), '4')).toBe('done');
  });
});

describe('a guarded transaction of several keys', () => {
  test('has one check for each of them', async () => {
    const { store, engine: locks } = await engine({ root: newRoot() });
    const asked = {
      ttl: 10_000,
      renew: true,
      wait: 0,
      maxHold: Infinity,
      minHold: 0,
      maxWaiters: Infinity,
      handOff: true,
    };
    const names = [newKey(), newKey()];
    const holds = await Promise.all(
      names.map((key) => locks.acquire(locks.backend('default', 'test'), { ...asked, key })),
    );
    const both = {
      keys: names,
      get fencingToken(): bigint {
        throw new Error('several keys have none');
      },
      throwIfLost: () => holds.forEach((hold) => hold.throwIfLost()),
    };
    const guard = store.guardTxn(both);
    expect(new Set(guard.map(([path]) => path)).size).toBe(2);
    await holds[0]?.release();
    expect(() => store.guardTxn(both)).toThrow(expect.objectContaining({ code: LockErrorCode.Lost }));
  });
});

describe('a client of yours', () => {
  test('stays as it was: open, with its own listeners, options and nodes', async () => {
    const root = newRoot();
    const key = newKey();
    const own = await client({ retries: 3 });
    const manager = own.connectionManager as unknown as Client;
    const listeners = [own.listenerCount('state'), manager.listenerCount('state')];
    const store = await open({ client: own, root });
    await take(store, key);
    const waiting = await queue(store, root, key);
    await store.close();
    await expect(waiting.result).rejects.toMatchObject({ retryable: false });
    expect(await entries(root, key)).toEqual([]);
    expect([own.listenerCount('state'), manager.listenerCount('state')]).toEqual(listeners);
    expect(own.getState().code).toBe(3);
    expect((own as unknown as { options: object }).options).toMatchObject({ retries: 3 });
    await new Promise<void>((resolve, reject) =>
      own.getChildren('/', undefined, (error) => (error ? reject(error) : resolve())),
    );
  });

  test('whose session has ended is told so until there is another one', async () => {
    const root = newRoot();
    const key = newKey();
    const own = await client();
    const { acquire } = bound(await engine({ client: own, root }));
    const hold = await acquire(key);
    const lost = once(hold.signal, 'abort');
    await endSession(own);
    await lost;
    const refused = acquire(key, { wait: 300 });
    await expect(refused).rejects.toMatchObject({
      code: LockErrorCode.Unavailable,
      message: expect.stringContaining('make a new one'),
    });
    await expect(refused).rejects.toMatchObject({ retryable: true });
  });

  test('that you close while a lock is held tells the holder at once, and never blocks the process', async () => {
    const root = newRoot();
    const own = await connectedClient(backend.directUrl);
    const { acquire } = bound(await engine({ client: own, root }));
    const hold = await acquire(newKey());
    // Its entry is watched by now.
    await sleep(200);
    const lost = once(hold.signal, 'abort').then(() => performance.now());
    const blocked = longestBlock(SESSION);
    const closed = performance.now();
    own.close();
    expect((await lost) - closed).toBeLessThan(200);
    expect(() => hold.throwIfLost()).toThrow(
      expect.objectContaining({
        code: LockErrorCode.Lost,
        cause: expect.objectContaining({ message: expect.stringContaining('the client was closed') }),
      }),
    );
    await expect(acquire(newKey(), { wait: 0 })).rejects.toMatchObject({ code: LockErrorCode.Unavailable });
    expect(await blocked).toBeLessThan(500);
    expect(await hold.release()).toBe(false);
  });

  test('that refuses every read at once is not asked again without a pause', async () => {
    const own = await client();
    let failing = false;
    let reads = 0;
    const getData = (path: string, watcher: never, done: (error: Error | null, ...values: unknown[]) => void): void => {
      reads += 1;
      if (failing) done(Object.assign(new Error('CONNECTION_LOSS'), { code: -4 }));
      else own.getData(path, watcher, done);
    };
    const refusing = Object.create(own, { getData: { value: getData } }) as Client;
    const store = await open({ client: refusing, root: newRoot() });
    failing = true;
    const hold = await take(store, newKey());
    const blocked = await longestBlock(1_000);
    expect(blocked).toBeLessThan(500);
    expect(reads).toBeGreaterThan(1);
    expect(reads).toBeLessThan(100);
    failing = false;
    expect(await hold.release()).toBe(true);
  });

  test('that is not connected is named as the reason', async () => {
    const unconnected = createClient(backend.directUrl);
    const opened = made({ client: unconnected, connectTimeout: 100 }).open();
    await expect(opened).rejects.toMatchObject({
      code: LockErrorCode.Unavailable,
      retryable: true,
      message: expect.stringContaining('client.connect()'),
    });
    expect(unconnected.listenerCount('state')).toBe(1);
  });
});

describe('nothing is left behind', () => {
  test('of a store that is closed, or could not be opened', async () => {
    const way = await proxy();
    const store = await open({ connectionString: `127.0.0.1:${way.port}`, root: newRoot() });
    await take(store, newKey());
    await store.close();
    await until(() => way.connections === 0);
    const refused = made({ connectionString: `127.0.0.1:${way.port}${newRoot()}` });
    await expect(refused.open()).rejects.toMatchObject({ retryable: false });
    let most = 0;
    for (let round = 0; round < 50; round += 1) {
      most = Math.max(most, way.connections);
      await sleep(10);
    }
    expect(way.connections).toBe(0);
    expect(most).toBeLessThan(2);
  });

  test('of 50,000 keys: the tree shrinks back, and no watch, entry or listener stays', async () => {
    const root = newRoot();
    const own = await client();
    const store = await open({ client: own, root, commandTimeout: '10s' });
    let next = 0;
    let most = 0;
    const work = async (): Promise<void> => {
      while (next < 50_000) {
        const hold = await take(store, `dynamic:${(next += 1)}`);
        await hold.release();
        if (next % 5_000 < 5) most = Math.max(most, (await children(root)).length);
      }
    };
    await Promise.all(Array.from({ length: 50 }, work));
    expect(most).toBeLessThan(2_500);
    await until(async () => (await children(root)).length === 0, 20_000);
    const { dataWatchers, existenceWatchers, childWatchers } = (own.connectionManager as Watching).watcherManager;
    expect([dataWatchers, existenceWatchers, childWatchers].map((watchers) => Object.keys(watchers).length)).toEqual([
      0, 0, 0,
    ]);
    await take(store, 'dynamic:1');
  }, 240_000);
});

interface Watching {
  readonly watcherManager: {
    readonly dataWatchers: object;
    readonly existenceWatchers: object;
    readonly childWatchers: object;
  };
}

async function proxy(): Promise<TcpProxy> {
  const [host, port] = backend.directUrl.split(':');
  const started = await TcpProxy.start(Number(port), host);
  cleanUps.push(() => started.stop());
  return started;
}

function bound(started: TestEngine & { store: ZookeeperLockStore }) {
  const { store } = started;
  return { store, acquire: started.acquire.bind(started) };
}
