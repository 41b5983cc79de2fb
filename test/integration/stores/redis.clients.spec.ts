import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { inspect } from 'node:util';
import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import type { LockStore } from '../../../lib/contract/index.js';
import { redisStore } from '../../../lib/stores/redis/index.js';
import {
  clientFamilies,
  type ClientFamily,
  type ClientSettings,
  type TestClient,
} from '../../support/redis-clients.js';
import { request, take, until } from '../../support/redis-requests.js';
import { RedisServer } from '../../support/redis-server.js';

const cleanUps: (() => unknown)[] = [];

afterEach(async () => {
  for (const cleanUp of cleanUps.splice(0).reverse()) await cleanUp();
});

async function connect(family: ClientFamily, settings: ClientSettings): Promise<TestClient> {
  const user = await family.connect(settings);
  cleanUps.push(() => user.close());
  return user;
}

function storeOf(user: TestClient, options: object = {}): LockStore {
  const store = redisStore({ client: user.client, ...options });
  cleanUps.push(() => store.close());
  return store;
}

async function failureOf(promise: Promise<unknown>): Promise<Error & { code?: string; retryable?: boolean }> {
  return promise.then(
    () => {
      throw new Error('it did not fail');
    },
    (error: unknown) => error as Error,
  );
}

describe.each(clientFamilies.map((family) => [family.name, family] as const))('with %s', (_, family) => {
  let server: RedisServer;
  beforeAll(async () => {
    server = await RedisServer.start({ args: ['--repl-diskless-sync-delay', '0'] });
  });
  afterAll(() => server.stop());

  it('takes, hands on, renews and gives back, and leaves the client open', async () => {
    const user = await connect(family, { url: server.url });
    const [store, other] = [storeOf(user), storeOf(await connect(family, { url: server.url }))];
    await Promise.all([store.open(), other.open()]);
    const hold = await take(store, 'a');
    const asked = request('a', { wait: true });
    const waiting = other.acquire(asked);
    await until(() => asked.statuses.length > 0);
    expect(asked.statuses[0]).toMatchObject({ holder: { label: 'host:1' } });
    expect(await store.renew!([{ hold, ttl: 5_000 }])).toEqual(['renewed']);
    expect(await store.inspect('a')).toMatchObject({ owner: hold.owner, fence: hold.fence, waiters: 1 });
    const released = performance.now();
    expect(await hold.release()).toBe(true);
    const result = await waiting;
    expect(performance.now() - released).toBeLessThan(500);
    expect(result.acquired && (await result.hold.release())).toBe(true);
    await Promise.all([store.close(), other.close()]);
    expect(await user.send('PING')).toBe('PONG');
    expect(await user.send('KEYS', '*')).toEqual(['{lock}:fence']);
    // Nothing of ours listens any more, and the second connection is gone.
    const clients = String(await user.send('CLIENT', 'LIST'));
    expect(clients.match(/sub=1/g)).toBeNull();
    await user.send('FLUSHALL');
  });

  it('works in the database of its client', async () => {
    const user = await connect(family, { url: server.url, db: 3 });
    const store = storeOf(user);
    await store.open();
    const hold = await take(store, 'a');
    expect(await user.send('DBSIZE')).toBe(2);
    const elsewhere = await connect(family, { url: server.url });
    expect(await elsewhere.send('DBSIZE')).toBe(0);
    const waiting = store.acquire(request('a', { wait: true }));
    await until(async () => (await store.inspect('a'))?.waiters === 1);
    expect(await hold.release()).toBe(true);
    expect((await waiting).acquired).toBe(true);
    await user.send('FLUSHALL');
  });

  const prefixed = async (): Promise<void> => {
    const user = await connect(family, { url: server.url, keyPrefix: 'app:' });
    const plain = await connect(family, { url: server.url });
    const store = storeOf(user);
    await store.open();
    const hold = await take(store, 'a');
    expect(((await plain.send('KEYS', '*')) as string[]).sort()).toEqual(['app:{lock:a}', 'app:{lock}:fence']);
    expect(await store.renew!([{ hold, ttl: 60_000 }])).toEqual(['renewed']);
    expect(Number(await plain.send('PTTL', 'app:{lock:a}'))).toBeGreaterThan(50_000);
    expect((await store.inspect('a'))?.owner).toBe(hold.owner);
    const waiting = store.acquire(request('a', { wait: true }));
    await until(async () => (await store.inspect('a'))?.waiters === 1);
    expect(await plain.send('EXISTS', 'app:{lock:a}:queue')).toBe(1);
    const released = performance.now();
    expect(await hold.release()).toBe(true);
    // By push: channels are not prefixed.
    expect((await waiting).acquired).toBe(true);
    expect(performance.now() - released).toBeLessThan(500);
    expect(await store.forceRelease('a')).toBe(true);
    expect(await plain.send('KEYS', '*')).toEqual(['app:{lock}:fence']);
    await user.send('FLUSHALL');
  };
  if (family.prefixes) it('uses one physical key throughout under a keyPrefix of the client', prefixed);

  it('does not notice that the server forgets its scripts', async () => {
    const user = await connect(family, { url: server.url });
    const store = storeOf(user);
    await store.open();
    await user.send('SCRIPT', 'FLUSH');
    const hold = await take(store, 'a');
    await user.send('SCRIPT', 'FLUSH');
    expect(await store.renew!([{ hold, ttl: 1_000 }])).toEqual(['renewed']);
    await user.send('SCRIPT', 'FLUSH');
    expect(await hold.release()).toBe(true);
  });

  it('says what is wrong when the password is, without telling it', async () => {
    const guarded = await RedisServer.start({ args: ['--requirepass', 'correct-horse'] });
    cleanUps.push(() => guarded.stop());
    const user = await connect(family, { url: guarded.url, password: 'hunter2-secret' });
    const error = await failureOf(storeOf(user, { connectTimeout: '2s' }).open());
    expect(error).toMatchObject({ code: 'LOCK_UNAVAILABLE' });
    // node-redis gives up at a refused password: from then on the client is closed.
    expect(inspect(error)).toMatch(/WRONGPASS|is not connected/);
    expect(inspect(error, { depth: 20, showHidden: true })).not.toMatch(/hunter2|correct-horse/);
  });

  it('says what is wrong when there is no password, and does not try again', async () => {
    const guarded = await RedisServer.start({ args: ['--requirepass', 'correct-horse'] });
    cleanUps.push(() => guarded.stop());
    const user = await connect(family, { url: guarded.url });
    const error = await failureOf(storeOf(user, { connectTimeout: '2s' }).open());
    expect(error).toMatchObject({ code: 'LOCK_UNAVAILABLE', retryable: false });
    expect(error.message).toContain('NOAUTH');
  });

  it('needs no more than the permissions it documents', async () => {
    const admin = await connect(family, { url: server.url });
    await admin.send(...aclOf('app'));
    const user = await connect(family, { url: server.url, username: 'app', password: 'password' });
    const store = storeOf(user);
    await store.open();
    const hold = await take(store, 'a');
    const waiting = store.acquire(request('a', { wait: true }));
    await until(async () => (await store.inspect('a'))?.waiters === 1);
    expect(await store.renew!([{ hold, ttl: 5_000 }])).toEqual(['renewed']);
    expect(await hold.release()).toBe(true);
    expect((await waiting).acquired).toBe(true);
    expect(await store.forceRelease('a')).toBe(true);
    await store.close();
  });

  it.each([
    'evalsha',
    'set',
    'get',
    'del',
    'lpop',
    'rpush',
    'lpos',
    'lrem',
    'llen',
    'pexpire',
    'pttl',
    'time',
    'publish',
    'subscribe',
  ])('finds at the start that %s is not permitted, and names it', async (command) => {
    const admin = await connect(family, { url: server.url });
    await admin.send(...aclOf('poor'), `-${command}`);
    const user = await connect(family, { url: server.url, username: 'poor', password: 'password' });
    const error = await failureOf(storeOf(user).open());
    expect(error).toMatchObject({ code: 'LOCK_UNAVAILABLE', retryable: false });
    expect(error.message.toLowerCase()).toContain(command);
    await admin.send('ACL', 'DELUSER', 'poor');
    await admin.send('FLUSHALL');
  });

  it('finds at the start that keys or channels are out of bounds', async () => {
    const admin = await connect(family, { url: server.url });
    for (const [index, rule] of [['resetkeys'], ['resetchannels']].entries()) {
      await admin.send(...aclOf(`bound${index}`), ...rule);
      const user = await connect(family, { url: server.url, username: `bound${index}`, password: 'password' });
      const error = await failureOf(storeOf(user).open());
      expect(error).toMatchObject({ code: 'LOCK_UNAVAILABLE', retryable: false });
    }
  });

  it('finds at the start that the server is a replica', async () => {
    const replica = await RedisServer.start({ args: ['--replicaof', '127.0.0.1', String(server.port)] });
    cleanUps.push(() => replica.stop());
    const user = await connect(family, { url: replica.url });
    await until(async () => String(await user.send('INFO', 'replication')).includes('master_link_status:up'));
    const error = await failureOf(storeOf(user).open());
    expect(error).toMatchObject({ code: 'LOCK_UNAVAILABLE' });
    expect(error.message).toContain('READONLY');
  });

  it('works over TLS', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'redis-tls-'));
    cleanUps.push(() => rmSync(folder, { recursive: true }));
    const [keyFile, certFile] = [join(folder, 'key.pem'), join(folder, 'cert.pem')];
    const names = ['-subj', '/CN=127.0.0.1', '-addext', 'subjectAltName=IP:127.0.0.1'];
    const made = ['req', '-x509', '-newkey', 'rsa:2048', '-nodes', '-days', '1', '-keyout', keyFile, '-out', certFile];
    execFileSync('openssl', [...made, ...names], { stdio: 'ignore' });
    const secure = await RedisServer.start({
      tls: { key: keyFile, cert: certFile },
    });
    cleanUps.push(() => secure.stop());
    const user = await connect(family, { url: secure.url, ca: readFileSync(certFile, 'utf8') });
    const store = storeOf(user);
    await store.open();
    const hold = await take(store, 'a');
    const waiting = store.acquire(request('a', { wait: true }));
    await until(async () => (await store.inspect('a'))?.waiters === 1);
    expect(await hold.release()).toBe(true);
    expect((await waiting).acquired).toBe(true);
  });
});

it('names TLS where a server does not speak it', async () => {
  const plain = await RedisServer.start();
  cleanUps.push(() => plain.stop());
  const store = redisStore({ url: plain.url.replace('redis:', 'rediss:'), connectTimeout: '300ms' });
  cleanUps.push(() => store.close());
  expect((await failureOf(store.open())).message).toMatch(/^redis at 127\.0\.0\.1:\d+ \(TLS\) is not reachable/);
});

/** What the documentation of `redisStore` says, and what clients send to connect. */
function aclOf(user: string): string[] {
  const documented = readFileSync('lib/stores/redis/index.ts', 'utf8');
  const rules = /ACL SETUSER app ([^]*?)\n \*\n/.exec(documented)![1]!.replace(/\n \*/g, ' ').trim().split(/\s+/);
  const connecting = ['+info', '+hello', '+select'];
  return ['ACL', 'SETUSER', user, 'reset', ...rules.filter((rule) => rule !== 'default'), ...connecting];
}
