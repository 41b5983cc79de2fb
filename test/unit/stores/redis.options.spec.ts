import { inspect } from 'node:util';
import { describe, expect, it } from '@jest/globals';
import { Cluster, Redis } from 'ioredis';
import { createClient, createClientPool, createCluster, createSentinel } from 'redis';
import { createCluster as createCluster5 } from 'redis5';
import { driverOf } from '../../../lib/stores/redis/driver-of.js';
import { redisStore, type RedisStoreOptions } from '../../../lib/stores/redis/index.js';
import { ownClient } from '../../../lib/stores/redis/redis.own-client.js';
import { redisSettings } from '../../../lib/stores/redis/redis.options.js';

const url = 'redis://localhost:6379';

function refusal(options: unknown): Error {
  try {
    redisStore(options as RedisStoreOptions);
  } catch (error) {
    expect(error).toMatchObject({ code: 'LOCK_OPTIONS', name: 'LockOptionsError' });
    return error as Error;
  }
  throw new Error('it was accepted');
}

describe('the options of redisStore', () => {
  it('have sensible defaults', () => {
    expect(redisSettings({ url })).toEqual({
      source: { url, options: {} },
      waitReplicas: undefined,
      asked: false,
      prefix: 'lock',
      commandTimeout: 1_000,
      pollInterval: 1_000,
      claimTtl: 1_000,
      connectTimeout: 5_000,
    });
  });

  it.each([
    [undefined, /options are undefined/],
    [null, /options are null/],
    ['redis://localhost', /options are 'redis:/],
    [{}, /neither client nor url/],
    [{ url, client: {} }, /both client and url/],
    [{ url, prefx: 'x' }, /no option "prefx".*prefix/],
    [{ url, prefix: '' }, /prefix is ''/],
    [{ url, prefix: 'a{b' }, /prefix is 'a\{b'/],
    [{ url, prefix: 'a b' }, /prefix is 'a b'/],
    [{ url, prefix: 7 }, /prefix is 7/],
    [{ url, commandTimeout: 0 }, /commandTimeout is 0/],
    [{ url, pollInterval: Infinity }, /pollInterval is Infinity/],
    [{ url, claimTtl: 'soon' }, /claimTtl is 'soon'/],
    [{ url, connectTimeout: NaN }, /connectTimeout is NaN/],
    [{ url: 7 }, /url is 7/],
    [{ url: 'localhost:6379' }, /must begin with 'redis:'/],
    [{ url: 'http://localhost' }, /begins with 'http:'/],
    [{ url: 'redis://localhost/abc' }, /url must name the database by its number/],
    [{ url: 'redis://localhost/0/1' }, /url must name the database by its number/],
    [{ url, options: 'x' }, /options is 'x'/],
    [{ client: {} }, /client is an object \(Object\), but must be a `Redis` of ioredis/],
    [{ client: 'x' }, /client is 'x'/],
    [{ client: null }, /client is null/],
  ])('refuse %j', (options, message) => {
    expect(refusal(options).message).toMatch(message);
  });

  it('refuse options for a client, which has its own', () => {
    expect(refusal({ client: createClient(), options: {} }).message).toMatch(/options are for a url/);
  });

  it('never show a password', () => {
    for (const bad of ['redis//user:hunter2@host', 'http://user:hunter2@host', 'redis://user:hunter2@host:port']) {
      expect(inspect(refusal({ url: bad }), { depth: 20, showHidden: true })).not.toContain('hunter2');
    }
  });

  it('take the clients that they name', () => {
    const ioredis = new Redis({ lazyConnect: true });
    expect(redisStore({ client: ioredis }).name).toBe('redis');
    expect(redisStore({ client: createClient() }).name).toBe('redis');
  });

  it('refuse what looks like a client, and say what it is', () => {
    expect(refusal({ client: createCluster5({ rootNodes: [{ url }] }) as never }).message).toMatch(
      /client is a cluster of redis 5, which/,
    );
    expect(refusal({ client: createClientPool() }).message).toMatch(/client is a client of redis 4 or older, a pool/);
  });
});

describe('a client of our own', () => {
  const missing = Object.assign(new Error("Cannot find package 'x'"), { code: 'ERR_MODULE_NOT_FOUND' });
  const absent = () => Promise.reject(missing);
  const settings = { url, options: {}, connectTimeout: 100, commandTimeout: 100 };

  it('is one of ioredis where that is installed', async () => {
    expect(await ownClient(settings)).toBeInstanceOf(Redis);
  });

  it('is one of redis otherwise', async () => {
    const client = await ownClient(settings, { ioredis: absent, redis: () => import('redis') });
    expect(client).toMatchObject({ isReady: false });
    (client as { destroy(): void }).destroy();
  });

  it('is found in a CommonJS package, whichever way it was loaded', async () => {
    const client = await ownClient(settings, { ioredis: async () => ({ default: { Redis } }), redis: absent });
    expect(client).toBeInstanceOf(Redis);
  });

  it('needs one of them', async () => {
    const made = ownClient(settings, { ioredis: absent, redis: absent });
    await expect(made).rejects.toMatchObject({
      code: 'LOCK_OPTIONS',
      message: expect.stringContaining('Install ioredis or redis, or pass a client'),
      cause: missing,
    });
  });

  it('does not hide that a package is broken', async () => {
    const broken = new Error('broken');
    await expect(ownClient(settings, { ioredis: () => Promise.reject(broken), redis: absent })).rejects.toBe(broken);
  });

  it('does not tell the password when its library refuses the options', async () => {
    const made = ownClient(
      { ...settings, url: 'redis://user:hunter2@localhost', options: { socket: { tls: true } } },
      { ioredis: absent, redis: () => import('redis') },
    );
    const error = await made.catch((reason: unknown) => reason);
    expect(error).toMatchObject({ code: 'LOCK_OPTIONS' });
    expect(inspect(error, { depth: 20, showHidden: true })).not.toContain('hunter2');
  });
});

describe('clients of several nodes', () => {
  const cluster = (options = {}) => new Cluster([{ host: 'localhost', port: 1 }], { lazyConnect: true, ...options });

  it('are accepted', () => {
    const sentinel = createSentinel({ name: 'main', sentinelRootNodes: [{ host: 'localhost', port: 1 }] });
    const clients = [cluster(), createCluster({ rootNodes: [{ url }] }), sentinel];
    for (const client of clients) expect(redisSettings({ client }).source).toEqual({ client });
  });

  it('promise tokens for each key where the counters are those of slots', () => {
    const guarantees = (client: RedisStoreOptions['client']) => redisStore({ client }).guarantees;
    expect(guarantees(cluster())).toMatchObject({ fencing: 'per-key', survivesFailover: false });
    expect(guarantees(createCluster({ rootNodes: [{ url }] }))).toMatchObject({ fencing: 'per-key' });
    const sentinel = createSentinel({ name: 'main', sentinelRootNodes: [{ host: 'localhost', port: 1 }] });
    expect(guarantees(sentinel)).toMatchObject({ fencing: 'global' });
  });

  it('are warned of where they leave an old master too late', () => {
    const warning = (failoverDetector?: boolean) => {
      const sentinel = { sentinels: [{ host: 'localhost', port: 1 }], name: 'main', lazyConnect: true };
      return driverOf(new Redis(failoverDetector ? { ...sentinel, failoverDetector } : sentinel), false).driver.warning;
    };
    expect(warning()).toMatch(/has no failoverDetector: .* Set failoverDetector: true/);
    expect(warning(true)).toBeUndefined();
    expect(driverOf(new Redis({ lazyConnect: true }), false).driver.warning).toBeUndefined();
  });

  it('cannot have a keyPrefix of their own where replicas are asked at the node', () => {
    expect(refusal({ client: cluster({ keyPrefix: 'app:' }), waitReplicas: { count: 1 } }).message).toMatch(
      /waitReplicas does not go with the keyPrefix 'app:' of a cluster's client: .*Use the option prefix of the store/,
    );
  });
});

describe('waitReplicas', () => {
  it('has a time of its own', () => {
    expect(redisSettings({ url, waitReplicas: { count: 2 } }).waitReplicas).toEqual({ count: 2, timeout: 100 });
    const given = redisSettings({ url, waitReplicas: { count: 1, timeout: '1s' } });
    expect(given).toMatchObject({ waitReplicas: { count: 1, timeout: 1_000 }, asked: true });
    expect(redisSettings({ url, waitReplicas: false })).toMatchObject({ waitReplicas: undefined, asked: true });
  });

  it.each([
    [{ count: 0 }, /waitReplicas\.count is 0, but must be a whole number from 1/],
    [{}, /waitReplicas\.count is undefined/],
    [{ count: 1, timeout: 0 }, /waitReplicas\.timeout is 0/],
    [{ count: 1, wait: 1 }, /waitReplicas has no 'wait'. There are: count, timeout/],
    [2, /waitReplicas is 2, but must be \{ count, timeout \} or false/],
  ])('is refused as %j', (waitReplicas, message) => {
    expect(refusal({ url, waitReplicas: waitReplicas as never }).message).toMatch(message);
  });
});
