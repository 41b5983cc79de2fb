import { execFile } from 'node:child_process';
import { once, type EventEmitter } from 'node:events';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { createServer, type AddressInfo, type Server } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { promisify } from 'node:util';
import { afterAll, afterEach, describe, expect, it } from '@jest/globals';
import { Test } from '@nestjs/testing';
import { Etcd3, type IKeyValue } from 'etcd3';
import { LockModule, LockService } from '../../../lib/index.js';
import { etcdStore, type EtcdLockStore, type EtcdStoreOptions } from '../../../lib/stores/etcd/index.js';
import { memoryStore } from '../../../lib/stores/memory/index.js';
import { EtcdDialect } from '../../../lib/stores/etcd/etcd.dialect.js';
import { etcdSettings } from '../../../lib/stores/etcd/etcd.options.js';
import { ownClients } from '../../../lib/stores/etcd/etcd.own-clients.js';
import { QueueStore } from '../../../lib/stores/shared/queue/queue.store.js';
import { CountedEtcd } from '../../support/counted-etcd.js';
import { EtcdBackend } from '../../support/etcd-backend.js';
import { EtcdServer } from '../../support/etcd-server.js';
import { newOwner, request, take, until } from '../../support/redis-requests.js';
import { TcpProxy } from '../../support/tcp-proxy.js';
import { TestEngine } from '../../support/test-engine.js';

const backend = await EtcdBackend.start();
const admin = new Etcd3({ hosts: backend.directUrl });
const ends: (() => unknown)[] = [];
let count = 0;
let prefix: string;
const key = 'a key';

afterEach(async () => {
  backend.proxy.heal();
  for (const end of ends.splice(0).reverse()) await end();
});
afterAll(async () => {
  admin.close();
  await backend.stop();
});

function fresh(): void {
  prefix = `test/${process.pid}-${(count += 1)}`;
}

/** Stores stand for processes. */
async function open(options: Partial<EtcdStoreOptions> = {}): Promise<EtcdLockStore> {
  const source = options.client ? {} : { hosts: backend.url };
  const store = etcdStore({ ...source, prefix, pollInterval: '30s', commandTimeout: '500ms', ...options });
  ends.push(() => store.close());
  await store.open();
  return store;
}

/** What stands in etcd, in the order in which it was made. */
async function entries(): Promise<IKeyValue[]> {
  const { kvs } = await admin.getAll().prefix(`${prefix}/`).sort('Create', 'Ascend').exec();
  return kvs.filter((kv) => !String(kv.key).includes('/sessions/'));
}

async function leases(): Promise<number> {
  return (await admin.leaseClient.leaseLeases()).leases.length;
}

/** A waiting acquisition that stands in the queue when this resolves. */
async function queue(store: EtcdLockStore, changes: Parameters<typeof request>[1] = {}) {
  const controller = new AbortController();
  const asked = request(key, { wait: true, signal: controller.signal, ...changes });
  const waiting = store.acquire(asked);
  waiting.catch(() => undefined);
  await until(async () => (await entries()).some((kv) => String(kv.value).includes(asked.owner)));
  await until(() => asked.statuses.length > 0);
  // Its watch is on its way by now.
  await sleep(20);
  return { asked, waiting, abort: () => controller.abort(new Error('gone')) };
}

async function granted(waiting: ReturnType<EtcdLockStore['acquire']>) {
  const result = await waiting;
  if (!result.acquired) throw new Error('it was refused');
  return result.hold;
}

async function failureOf(failing: Promise<unknown>): Promise<Error & { retryable?: boolean }> {
  return failing.then(
    () => new Error('it did not fail'),
    (error: unknown) => error as Error,
  );
}

describe('what stands in etcd', () => {
  it('is one key for each lock, named by hashes, that tells people what it is', async () => {
    fresh();
    const store = await open();
    const hold = await take(store, 'order:7/ß', { label: 'host:17' });
    const [entry, ...others] = await entries();
    expect(others).toEqual([]);
    expect(String(entry!.key)).toMatch(new RegExp(`^${prefix}/[0-9a-f]{64}/${entry!.lease}\\.0\\.0$`));
    expect(JSON.parse(String(entry!.value))).toEqual({ key: 'order:7/ß', owner: hold.owner, label: 'host:17' });
    expect(hold.fence).toBe(BigInt(entry!.create_revision));
    await hold.release();
    expect(await entries()).toEqual([]);
  });

  it('has a name that was there before: etcd walks over all that there ever were since it was compacted', async () => {
    fresh();
    const [a, b] = [await open(), await open()];
    const used = new Set<string>();
    for (let round = 0; round < 20; round += 1) {
      const store = [a, b][round % 2]!;
      const hold = await take(store, key);
      const waiter = await queue([b, a][round % 2]!);
      for (const entry of await entries()) used.add(String(entry.key));
      await hold.release();
      await (await granted(waiter.waiting)).release();
    }
    expect(used.size).toBe(2);
  });

  it('is under one lease for all locks of a ttl, in whole seconds', async () => {
    fresh();
    const store = await open();
    const before = await leases();
    for (const ttl of [4_001, 4_500, 5_000, 9_000]) await take(store, `key:${ttl}`, { ttl });
    const used = (await entries()).map(({ lease }) => lease);
    expect(new Set(used.slice(0, 3)).size).toBe(1);
    expect(new Set(used).size).toBe(2);
    expect(await leases()).toBe(before + 2);
    await store.close();
    expect(await entries()).toEqual([]);
    expect(await leases()).toBe(before);
  });

  it('is nothing after thousands of keys that were used once, with and without waiting', async () => {
    fresh();
    // Nothing is wrong with the server: however long a hundred answers take, they come.
    const patient = { commandTimeout: '20s' } as const;
    const settings = etcdSettings({ hosts: backend.url, prefix, pollInterval: '30s', ...patient });
    const dialect = new EtcdDialect(settings);
    const a = new QueueStore(dialect, settings);
    ends.push(() => a.close());
    await a.open();
    const counted = new CountedEtcd(ownClient());
    const b = await open({ client: counted, ...patient });
    const before = await leases();
    for (let round = 0; round < 30; round += 1) {
      const keys = Array.from({ length: 100 }, (_, index) => `${round}:${index}`);
      await Promise.all(
        keys.map(async (each, index) => {
          const hold = await take(a, each);
          if (index % 10 > 0) return hold.release();
          const asked = request(each, { wait: true });
          const waiting = b.acquire(asked);
          await until(() => asked.statuses.length > 0, 20_000);
          await hold.release();
          return (await granted(waiting)).release();
        }),
      );
    }
    expect(await entries()).toEqual([]);
    expect(await leases()).toBe(before + 2);
    const session = await dialect.session(10_000);
    expect([session.members.size, session.holds.size]).toEqual([0, 0]);
    expect(counted.watchesCreated).toBeGreaterThan(100);
    // That of its session stays.
    expect(counted.watchesCancelled).toBe(counted.watchesCreated - 1);
    expect(counted.streams).toBeLessThanOrEqual(2);
  }, 60_000);
});

describe('when the session ends', () => {
  it('tells a holder that is cut off before etcd frees the key, and takes it anew after that', async () => {
    fresh();
    const engine = new TestEngine(await open());
    const direct = await open({ hosts: backend.directUrl });
    const hold = await engine.acquire(key, { ttl: 1_000, wait: 0 });
    await sleep(700);
    expect(hold.held).toBe(true);
    const [{ lease: first } = { lease: '' }] = await entries();
    const lost = new Promise((resolve) => hold.signal.addEventListener('abort', resolve));
    const waiting = direct.acquire(request(key, { wait: true, ttl: 30_000 }));
    backend.proxy.blackHole();
    await lost;
    // The server still has it: nobody else can have been told that it is free.
    expect((await entries())[0]?.lease).toBe(first);
    expect(hold.held).toBe(false);
    const next = await granted(waiting);
    expect(await hold.release()).toBe(false);
    expect(next.validUntil).toBeGreaterThan(performance.now());
    backend.proxy.heal();
    const again = engine.acquire(key, { ttl: 1_000, wait: 10_000 });
    await until(async () => (await entries()).length === 2);
    expect(await next.release()).toBe(true);
    expect((await again).held).toBe(true);
    expect((await entries())[0]?.lease).not.toBe(first);
    expect(await (await again).release()).toBe(true);
    await engine.close();
  }, 20_000);

  it('never makes a waiter a holder whose own entry has gone with its session', async () => {
    fresh();
    const [a, b, c] = [await open(), await open(), await open()];
    const hold = await take(a, key);
    const gone = await queue(b, { ttl: 20_000 });
    const behind = await queue(c);
    const [, entry] = await entries();
    await admin.leaseClient.leaseRevoke({ ID: entry!.lease });
    await hold.release();
    // The one behind it moves up, and it has to queue anew.
    const next = await granted(behind.waiting);
    await until(async () => (await entries()).length === 1, 200).catch(() => undefined);
    expect((await a.inspect(key))?.owner).toBe(next.owner);
    expect(await next.release()).toBe(true);
    // Found by the next sign of life, at the latest: until then its session counts as alive.
    gone.abort();
    await gone.waiting.catch(() => undefined);
    await b.abandon(key, gone.asked.owner);
    expect(await entries()).toEqual([]);
  });

  it('has a waiter whose entry somebody has removed queue anew, at the end', async () => {
    fresh();
    const [a, b, c] = [await open(), await open(), await open()];
    const hold = await take(a, key);
    const removed = await queue(b);
    const behind = await queue(c);
    const [, entry] = await entries();
    await admin.delete().key(entry!.key);
    await until(async () => (await entries()).length === 2);
    await hold.release();
    const next = await granted(behind.waiting);
    // Nobody has told it: it looks when its poll is due, or when what it waits for has gone.
    await until(async () => (await entries()).length === 2);
    expect((await a.inspect(key))?.owner).toBe(next.owner);
    expect(await next.release()).toBe(true);
    const last = await granted(removed.waiting);
    expect(last.fence).toBeGreaterThan(next.fence!);
    expect(await last.release()).toBe(true);
  });

  it('trusts no entry of an owner that stands in another session', async () => {
    fresh();
    const store = await open();
    const hold = await take(store, key);
    const [{ key: name } = { key: Buffer.from('') }] = await entries();
    await hold.release();
    const owner = newOwner();
    const other = admin.lease(60);
    await other.put(name!).value('').exec();
    const [{ create_revision: old } = { create_revision: '0' }] = await entries();
    for (const wait of [true, false]) {
      const found = await take(store, key, { owner, wait });
      expect(found.fence).toBeGreaterThan(BigInt(old));
    }
    await other.revoke();
    expect(await entries()).toHaveLength(1);
    await store.abandon(key, owner);
    expect(await entries()).toEqual([]);
  });

  it('tells a holder at once that etcd has ended its session, before anybody else takes over', async () => {
    fresh();
    const [a, b] = [await open(), await open()];
    const hold = await take(a, key, { ttl: 60_000 });
    const waiter = await queue(b, { ttl: 50_000 });
    const lost = new Promise((resolve) => (hold.onLost = (cause) => resolve([cause, performance.now()])));
    const next = granted(waiter.waiting).then((taken) => [taken, performance.now()] as const);
    const revoked = performance.now();
    await admin.leaseClient.leaseRevoke({ ID: (await entries())[0]!.lease });
    const [cause, told] = (await lost) as [unknown, number];
    expect(String(cause)).toContain('etcd has ended the session');
    expect(told - revoked).toBeLessThan(450);
    expect(hold.validUntil).toBe(-Infinity);
    expect(await hold.release()).toBe(false);
    const [taken, at] = await next;
    expect(at - revoked).toBeGreaterThan(450);
    expect(await taken.release()).toBe(true);
    // And this process does not come with a new session before others have heard of theirs.
    expect(await (await take(a, key, { ttl: 60_000 })).release()).toBe(true);
    expect(performance.now() - told).toBeGreaterThan(450);
  });

  it('leaves those who hold nothing of it alone: a waiter that is cut off loses its place, and nobody else theirs', async () => {
    fresh();
    const [a, c, d] = [
      await open({ hosts: backend.directUrl }),
      await open({ hosts: backend.directUrl }),
      await open({ hosts: backend.directUrl }),
    ];
    const b = await open();
    const hold = await take(a, key);
    const killed = await queue(b, { ttl: 1_000 });
    const third = await queue(c);
    const fourth = await queue(d);
    backend.proxy.blackHole();
    await until(async () => (await entries()).length === 3, 5_000);
    await hold.release();
    const next = await granted(third.waiting);
    await sleep(50);
    expect((await entries()).length).toBe(2);
    expect(await next.release()).toBe(true);
    expect(await (await granted(fourth.waiting)).release()).toBe(true);
    killed.abort();
    await killed.waiting.catch(() => undefined);
  }, 20_000);
});

describe('when an entry is not what it should be', () => {
  it('tells a holder whose entry somebody has removed, within a third of the ttl and some', async () => {
    fresh();
    const store = await open();
    const hold = await take(store, key, { ttl: 1_000 });
    const kept = await take(store, 'another', { ttl: 1_000 });
    let lost = false;
    hold.onLost = () => (lost = true);
    await admin.delete().key((await entries())[0]!.key);
    await until(() => lost, 1_500);
    expect(hold.validUntil).toBe(-Infinity);
    expect(await hold.release()).toBe(false);
    expect(await kept.release()).toBe(true);
  });

  it('removes an entry under its lease that nobody has asked for', async () => {
    fresh();
    const store = await open();
    const hold = await take(store, key, { ttl: 1_000 });
    const [entry] = await entries();
    const ghost = String(entry!.key).replace(/0$/, '7');
    await admin.put(ghost).value('').lease(entry!.lease).exec();
    await hold.release();
    const next = await granted(store.acquire(request(key, { wait: true, ttl: 1_000 })));
    expect(await next.release()).toBe(true);
    await until(async () => (await entries()).length === 0);
  });

  it('shows a name of somebody else as it is', async () => {
    fresh();
    const store = await open();
    const hold = await take(store, key);
    const name = String((await entries())[0]!.key).replace(/[^/]+$/, 'by hand');
    await hold.release();
    await admin.put(name).value('{"label":7').exec();
    expect(await store.inspect(key)).toMatchObject({ owner: name, waiters: 0, label: undefined });
    expect((await store.acquire(request(key))).acquired).toBe(false);
    expect(await store.forceRelease(key)).toBe(true);
    expect(await entries()).toEqual([]);
  });
});

describe('when answers are lost', () => {
  it('refuses a request to enter that arrives after it was given up', async () => {
    fresh();
    const client = new CountedEtcd(ownClient());
    const [store, other] = [await open({ client }), await open()];
    await (await take(store, 'warm up')).release();
    for (const wait of [true, false]) {
      const late = client.holdBack();
      const asked = request(key, { wait });
      // Its first try is under way for longer than it waits; the second one is answered.
      const hold = await granted(store.acquire(asked));
      expect(await hold.release()).toBe(true);
      expect((await late()).succeeded).toBe(false);
      expect(await entries()).toEqual([]);
      expect(await (await take(other, key)).release()).toBe(true);
      // What is asked for after that is not refused.
      expect(await (await take(store, key)).release()).toBe(true);
    }
  }, 20_000);

  it('refuses a request to enter that arrives after its owner was abandoned', async () => {
    fresh();
    const client = new CountedEtcd(ownClient());
    const [store, other] = [await open({ client }), await open()];
    const hold = await take(store, 'another key');
    const late = client.holdBack(Infinity);
    const asked = request(key, { wait: true });
    expect(await failureOf(store.acquire(asked))).toMatchObject({ code: 'LOCK_UNAVAILABLE' });
    client.pass();
    await store.abandon(key, asked.owner);
    expect((await late()).succeeded).toBe(false);
    expect(await entries()).toHaveLength(1);
    expect(await (await take(other, key)).release()).toBe(true);
    expect(await hold.release()).toBe(true);
  }, 20_000);

  it('tells a holder whose entry was removed, also where a late request has made another in its place', async () => {
    fresh();
    const client = new CountedEtcd(ownClient());
    const [store, other] = [await open({ client }), await open()];
    for (const told of [true, false]) {
      const ttl = told ? 1_000 : 60_000;
      await (await take(store, 'warm up', { ttl })).release();
      const late = client.holdBack();
      const hold = await take(store, key, { ttl });
      let lost = false;
      hold.onLost = () => (lost = true);
      expect(await other.forceRelease(key)).toBe(true);
      expect(await (await take(other, key)).release()).toBe(true);
      expect((await late()).succeeded).toBe(true);
      expect(await entries()).toHaveLength(1);
      if (told) await until(() => lost, 1_500);
      expect(await hold.release()).toBe(false);
      expect(await entries()).toEqual([]);
    }
  }, 20_000);

  it('removes what had no answer for many at once', async () => {
    fresh();
    const settings = etcdSettings({ hosts: backend.url, prefix });
    const dialect = new EtcdDialect(settings);
    const store = new QueueStore(dialect, settings);
    ends.push(() => store.close());
    await store.open();
    const holds = await Promise.all(Array.from({ length: 100 }, (_, index) => take(store, `key:${index}`)));
    const session = await dialect.session(10_000);
    for (const member of session.members.values()) member.unsure = true;
    const stood = await Promise.all(holds.map((hold) => hold.release()));
    expect(stood.every(Boolean)).toBe(true);
    expect(await entries()).toEqual([]);
  });

  it('goes on trying to remove an entry that nobody asks for any more', async () => {
    fresh();
    const client = new CountedEtcd(ownClient());
    const [store, other] = [await open({ client }), await open()];
    const hold = await take(store, key, { ttl: 1_000 });
    const kept = await take(store, 'another key', { ttl: 1_000 });
    client.holdBack(Infinity);
    expect(await failureOf(hold.release())).toMatchObject({ code: 'LOCK_UNAVAILABLE' });
    expect(await failureOf(store.abandon(key, hold.owner))).toMatchObject({ code: 'LOCK_UNAVAILABLE' });
    client.pass();
    const next = await granted(other.acquire(request(key, { wait: true })));
    expect(kept.validUntil).toBeGreaterThan(performance.now());
    expect(await next.release()).toBe(true);
    expect(await kept.release()).toBe(true);
  });

  it('frees a key that was won without hearing of it', async () => {
    fresh();
    const engine = new TestEngine(await open());
    const direct = await open({ hosts: backend.directUrl });
    await (await engine.acquire('warm up', { ttl: 60_000 })).release();
    backend.proxy.dropReplies();
    await expect(engine.acquire(key, { ttl: 60_000, wait: 300 })).rejects.toMatchObject({ code: 'LOCK_UNAVAILABLE' });
    expect(await entries()).toHaveLength(1);
    backend.proxy.cut({ refuse: false });
    backend.proxy.heal();
    expect(await (await granted(direct.acquire(request(key, { wait: true })))).release()).toBe(true);
    await engine.close();
  });

  it('ends each call that nobody answers, also where the application transforms calls itself', async () => {
    fresh();
    const under = new Set<EventEmitter>();
    const callInvocationTransformer = <T extends { call: EventEmitter }>(invocation: T): T => {
      under.add(invocation.call);
      invocation.call.on('status', () => under.delete(invocation.call));
      return invocation;
    };
    const store = await open({ options: { grpcOptions: { callInvocationTransformer } } });
    const hold = await take(store, key);
    await until(() => under.size === 1);
    // The stream of watches stays.
    backend.proxy.blackHole();
    const failing = [store.acquire(request('another')), hold.release(), store.inspect(key)].map(failureOf);
    await until(() => under.size >= 4);
    for (const error of failing) expect(await error).toMatchObject({ code: 'LOCK_UNAVAILABLE' });
    await until(() => under.size <= 1);
  });

  it('costs a member that is silent a part of the time, and a member that is gone next to nothing', async () => {
    fresh();
    const [silent, working] = [await TcpProxy.start(portOf(backend)), await TcpProxy.start(portOf(backend))];
    ends.push(
      () => silent.stop(),
      () => working.stop(),
    );
    const hosts = [silent, working].map(({ port }) => `http://127.0.0.1:${port}`);
    const store = await open({ hosts, commandTimeout: '2s' });
    await take(store, 'warm up');
    for (const [fault, most] of [
      ['blackHole', 1_900],
      ['cut', 900],
    ] as const) {
      const [used, other] = silent.connections > 0 ? [silent, working] : [working, silent];
      used[fault]();
      const start = performance.now();
      await take(store, fault);
      expect(performance.now() - start).toBeLessThan(most);
      // And whoever comes next does not ask it again.
      const again = performance.now();
      await take(store, `${fault} again`);
      expect(performance.now() - again).toBeLessThan(900);
      expect(other.connections).toBeGreaterThan(0);
      used.cut();
      used.heal();
    }
  }, 20_000);

  it('moves a watch along when its member goes silent', async () => {
    fresh();
    const proxies = [await TcpProxy.start(portOf(backend)), await TcpProxy.start(portOf(backend))];
    ends.push(() => Promise.all(proxies.map((proxy) => proxy.stop())));
    const hosts = proxies.map(({ port }) => `http://127.0.0.1:${port}`);
    const [a, b] = [await open(), await open({ hosts, pollInterval: '300ms', commandTimeout: '400ms' })];
    const hold = await take(a, key);
    const { waiting } = await queue(b);
    const used = proxies.find(({ connections }) => connections > 0)!;
    used.blackHole();
    await sleep(1_500);
    const released = performance.now();
    await hold.release();
    const next = await granted(waiting);
    expect(performance.now() - released).toBeLessThan(400);
    await next.release();
  }, 20_000);
});

describe('waiting', () => {
  it('wakes one process for each release, and none for who gives up elsewhere in the queue', async () => {
    fresh();
    const holder = await open();
    let hold = await take(holder, key);
    const join = async () => {
      const counted = new CountedEtcd(ownClient());
      const store = await open({ client: counted });
      // No sign of life comes between.
      return { counted, store, ...(await queue(store, { ttl: 600_000 })) };
    };
    const waiters: Awaited<ReturnType<typeof join>>[] = [];
    for (let place = 0; place < 8; place += 1) waiters.push(await join());
    const reads = (): number => waiters.reduce((sum, { counted }) => sum + counted.reads, 0);
    const before = reads();
    const [gone] = waiters.splice(4, 1);
    gone!.abort();
    await gone!.waiting.catch(() => undefined);
    await gone!.store.abandon(key, gone!.asked.owner);
    await sleep(200);
    // The one behind it: why it was woken, and, once it watches another, whether that still stands.
    expect(reads() - before).toBeLessThanOrEqual(2);
    for (const { waiting } of waiters) {
      const woken = reads();
      expect(await hold.release()).toBe(true);
      hold = await granted(waiting);
      await sleep(50);
      expect(reads() - woken).toBe(1);
    }
    expect(await hold.release()).toBe(true);
  }, 30_000);

  it('goes on over a watch that ends, without a poll', async () => {
    fresh();
    const direct = await open({ hosts: backend.directUrl });
    const hold = await take(direct, key);
    const { waiting } = await queue(await open());
    backend.proxy.cut({ refuse: false });
    await sleep(300);
    const released = performance.now();
    await hold.release();
    const next = await granted(waiting);
    expect(performance.now() - released).toBeLessThan(1_000);
    await next.release();
  });
});

describe('a client of one’s own', () => {
  it('stays open, and is not asked to close anything', async () => {
    fresh();
    const client = ownClient();
    const store = await open({ client });
    const hold = await take(store, key);
    const waiting = store.acquire(request(key, { wait: true }));
    await until(async () => (await store.inspect(key))?.waiters === 1);
    await hold.release();
    await granted(waiting);
    await store.close();
    await client.put(`${prefix}/afterwards`).value('works').exec();
    expect(await client.get(`${prefix}/afterwards`).string()).toBe('works');
    await client.delete().key(`${prefix}/afterwards`).exec();
  });

  it('is given a deadline for each of its tries, so that a silent member costs a part of the time', async () => {
    fresh();
    const silent = await TcpProxy.start(portOf(backend));
    ends.push(() => silent.stop());
    silent.blackHole();
    const client = new Etcd3({ hosts: [`http://127.0.0.1:${silent.port}`, backend.directUrl] });
    ends.push(() => client.close());
    const store = await open({ client, commandTimeout: '1500ms' });
    for (let round = 0; round < 6; round += 1) {
      const start = performance.now();
      await take(store, `${key}:${round}`);
      expect(performance.now() - start).toBeLessThan(1_400);
    }
  }, 20_000);
});

describe('open()', () => {
  const opened = (hosts: string | string[]) => failureOf(open({ hosts, connectTimeout: '400ms' }));

  it('says that nobody listens, in words of its own, and why', async () => {
    fresh();
    const free = await portOfNobody();
    for (const hosts of [`http://127.0.0.1:${free}`, [`http://127.0.0.1:${free}`, `http://localhost:${free}`]]) {
      const error = await opened(hosts);
      expect(error).toMatchObject({ code: 'LOCK_UNAVAILABLE', retryable: true });
      expect(error.message).toMatch(
        /^etcd at http:\/\/127\.0\.0\.1:\d+.* cannot be reached within 400 ms: .*ECONNREFUSED/,
      );
      expect(error.cause).toMatchObject({ message: expect.stringContaining('ECONNREFUSED') });
    }
  });

  it('says that of a server of another kind, and that one gives no answer', async () => {
    fresh();
    for (const [answer, said] of [
      ['HTTP/1.1 400 Bad Request\r\n\r\n', ' cannot be reached within 400 ms'],
      [undefined, ' gave no answer within 400 ms'],
    ] as const) {
      const server = createServer((socket) => {
        socket.on('error', () => undefined);
        socket.on('data', () => answer && socket.end(answer));
      });
      const port = await listening(server);
      const error = await opened(`http://127.0.0.1:${port}`);
      expect(error).toMatchObject({ code: 'LOCK_UNAVAILABLE', retryable: true, cause: expect.any(Error) });
      expect(error.message).toContain(said);
      expect(error.message).not.toMatch(/DEADLINE_EXCEEDED|LB pick|name resolution/);
    }
  });
});

describe('permissions and TLS', () => {
  it('logs in, and says what is wrong with a password or a permission without telling secrets', async () => {
    fresh();
    const server = await EtcdServer.start();
    ends.push(() => server.stop());
    const root = new Etcd3({ hosts: server.url });
    ends.push(() => root.close());
    const role = await root.role('locks').create();
    await role.grant({ permission: 'Readwrite', range: root.range({ prefix: `${prefix}/` }) });
    const user = root.user('app');
    await user.create('hunter2');
    await user.addRole('locks');
    const rootUser = root.user('root');
    await rootUser.create('correct-horse');
    await rootUser.addRole('root');
    await root.auth.authEnable();

    const auth = { username: 'app', password: 'hunter2' };
    const [a, b] = [await open({ hosts: server.url, auth }), await open({ hosts: server.url, auth })];
    const hold = await take(a, key, { ttl: 1_000 });
    const waiting = b.acquire(request(key, { wait: true, ttl: 1_000 }));
    await until(async () => (await a.inspect(key))?.waiters === 1);
    await sleep(1_500);
    expect(await hold.release()).toBe(true);
    const next = await granted(waiting);
    // A change of the users invalidates some kinds of logins.
    const admin = new Etcd3({ hosts: server.url, auth: { username: 'root', password: 'correct-horse' } });
    ends.push(() => admin.close());
    await admin.user('other').create('x');
    expect(await next.release()).toBe(true);

    for (const [wrong, message] of [
      [{ auth: { username: 'app', password: 'wrong-horse' } }, /authentication failed/],
      [{}, /user name is empty/],
      [{ auth, prefix: 'elsewhere' }, /permission denied/],
    ] as const) {
      const error = await failureOf(open({ hosts: server.url, ...wrong }));
      expect(error).toMatchObject({ code: 'LOCK_UNAVAILABLE', retryable: false });
      expect(error.message).toMatch(message);
      expect(`${error.stack} ${JSON.stringify(error)} ${JSON.stringify(error.cause)}`).not.toMatch(/hunter2|horse/);
    }
  }, 30_000);

  it('speaks TLS, and trusts nobody without a reason', async () => {
    fresh();
    const folder = mkdtempSync(join(tmpdir(), 'etcd-tls-'));
    ends.push(() => rmSync(folder, { recursive: true }));
    const tls = { key: join(folder, 'key.pem'), cert: join(folder, 'cert.pem') };
    await promisify(execFile)('openssl', [
      ...['req', '-x509', '-newkey', 'rsa:2048', '-nodes', '-days', '1', '-subj', '/CN=localhost'],
      ...['-addext', 'subjectAltName=IP:127.0.0.1', '-keyout', tls.key, '-out', tls.cert],
    ]);
    const server = await EtcdServer.start({ tls });
    ends.push(() => server.stop());
    const store = await open({ hosts: server.url, credentials: { rootCertificate: readFileSync(tls.cert) } });
    expect(await (await take(store, key)).release()).toBe(true);
    const error = await failureOf(open({ hosts: server.url, connectTimeout: '500ms' }));
    expect(error).toMatchObject({ code: 'LOCK_UNAVAILABLE' });
  }, 30_000);
});

describe('guardTxn()', () => {
  it('has etcd refuse what a stale holder writes, and nothing else', async () => {
    fresh();
    const balance = `${prefix}/balance`;
    const store = await open();
    const other = await open();
    const module = await Test.createTestingModule({ imports: [LockModule.forRoot({ store })] }).compile();
    await module.init();
    const locks = module.get(LockService);
    await locks.withLock(key, async (lock) => {
      const write = async (value: string): Promise<boolean> => {
        const [clause] = store.guardTxn(lock);
        // A process that was paused right here would go on with this clause.
        return (
          await admin
            .if(...clause)
            .then(admin.put(balance).value(value))
            .commit()
        ).succeeded;
      };
      expect(await write('1')).toBe(true);
      const [clause] = store.guardTxn(lock);
      expect(await other.forceRelease(key)).toBe(true);
      const successor = await take(other, key);
      const late = await admin
        .if(...clause)
        .then(admin.put(balance).value('2'))
        .commit();
      expect(late.succeeded).toBe(false);
      expect(await admin.get(balance).string()).toBe('1');
      await successor.release();
    });
    await module.close();
    await admin.delete().key(balance).exec();
  });

  it('has a clause for each key, and refuses a lock that was lost, and in other words one that is not its own', async () => {
    fresh();
    const store = await open();
    const other = await open();
    const module = await Test.createTestingModule({ imports: [LockModule.forRoot({ store })] }).compile();
    await module.init();
    const locks = module.get(LockService);
    let kept: Parameters<EtcdLockStore['guardTxn']>[0] | undefined;
    await locks.withLock(['b', 'a'], (lock) => {
      kept = lock;
      const clauses = store.guardTxn(lock);
      expect(clauses.map(([name, ...rest]) => [name.split('/').length, ...rest])).toEqual([
        [4, 'Create', '==', expect.stringMatching(/^\d+$/)],
        [4, 'Create', '==', expect.stringMatching(/^\d+$/)],
      ]);
      const refused = { code: 'LOCK_OPTIONS', message: expect.stringContaining('is of another store') };
      expect(() => other.guardTxn(lock)).toThrow(expect.objectContaining(refused));
    });
    expect(() => store.guardTxn(kept!)).toThrow(expect.objectContaining({ code: 'LOCK_LOST' }));
    const hold = await take(store, key);
    const foreign = { keys: [key], fencingToken: (hold.fence! - 1n) << 10n, throwIfLost: () => undefined };
    expect(() => store.guardTxn(foreign)).toThrow(expect.objectContaining({ code: 'LOCK_OPTIONS' }));
    expect(() => store.guardTxn({ ...foreign, keys: ['c'] })).toThrow(
      expect.objectContaining({ code: 'LOCK_OPTIONS' }),
    );
    const own = { ...foreign, fencingToken: (hold.fence! << 10n) | 3n };
    expect(() => store.guardTxn(own)).not.toThrow();
    // Of this store, whatever the lock itself says.
    Object.defineProperty(hold, 'validUntil', { value: -Infinity });
    expect(() => store.guardTxn(own)).toThrow(expect.objectContaining({ code: 'LOCK_LOST' }));
    await module.close();
  });

  it('tells a lock of another kind of store from one that was lost, and what is no lock at all', async () => {
    fresh();
    const store = await open();
    const memory = new TestEngine(memoryStore());
    ends.push(() => memory.close());
    await take(store, key);
    for (const lock of [await memory.acquire(key), await memory.acquire('another')]) {
      const refused = { code: 'LOCK_OPTIONS', message: expect.stringContaining('is of another store') };
      expect(() => store.guardTxn(lock)).toThrow(expect.objectContaining(refused));
    }
    for (const [wrong, shown] of [
      [{}, 'an object (Object)'],
      [undefined, 'undefined'],
      [key, "'a key'"],
    ] as const) {
      const refused = { code: 'LOCK_OPTIONS', message: expect.stringContaining(`the lock is ${shown}`) };
      expect(() => store.guardTxn(wrong as never)).toThrow(expect.objectContaining(refused));
    }
  });
});

describe('without the package', () => {
  it('says what to install', async () => {
    const missing = Object.assign(new Error('Cannot find package'), { code: 'ERR_MODULE_NOT_FOUND' });
    const options = { hosts: ['localhost:2379'], auth: undefined, credentials: undefined, options: {} };
    const error = await failureOf(ownClients(options, 1_000, () => Promise.reject(missing)));
    expect(error).toMatchObject({ code: 'LOCK_OPTIONS', cause: missing });
    expect(error.message).toContain('Install etcd3, or pass a client');
  });
});

async function listening(server: Server): Promise<number> {
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  ends.push(() => server.close());
  return (server.address() as AddressInfo).port;
}

async function portOfNobody(): Promise<number> {
  const server = createServer();
  const port = await listening(server);
  server.close();
  await once(server, 'close');
  return port;
}

function portOf({ directUrl }: EtcdBackend): number {
  return Number(new URL(directUrl).port);
}

function ownClient(): Etcd3 {
  const client = new Etcd3({ hosts: backend.directUrl });
  ends.push(() => client.close());
  return client;
}
