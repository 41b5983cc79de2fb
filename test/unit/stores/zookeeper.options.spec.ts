import { inspect } from 'node:util';
import { describe, expect, it } from '@jest/globals';
import { ACL, createClient } from 'node-zookeeper-client';
import { zookeeperStore, type ZookeeperStoreOptions } from '../../../lib/stores/zookeeper/index.js';
import { keyNode, queueOf } from '../../../lib/stores/zookeeper/zookeeper.names.js';
import { zookeeperSettings } from '../../../lib/stores/zookeeper/zookeeper.options.js';
import { ownClient } from '../../../lib/stores/zookeeper/zookeeper.own-client.js';

const connectionString = 'zk1:2181,zk2:2181/app';

function refusal(options: unknown): Error {
  try {
    zookeeperStore(options as ZookeeperStoreOptions);
  } catch (error) {
    expect(error).toMatchObject({ code: 'LOCK_OPTIONS', name: 'LockOptionsError' });
    return error as Error;
  }
  throw new Error('it was accepted');
}

describe('the options of zookeeperStore', () => {
  it('have sensible defaults', () => {
    expect(zookeeperSettings({ connectionString })).toEqual({
      source: { connectionString, auth: [], sessionTimeout: 10_000 },
      acl: undefined,
      root: '/locks',
      commandTimeout: 2_000,
      connectTimeout: 5_000,
      pollInterval: 5_000,
      tickTime: undefined,
    });
  });

  it.each([
    [undefined, /options are undefined/],
    [null, /options are null/],
    ['zk:2181', /options are 'zk:2181'/],
    [{}, /neither client nor connectionString/],
    [{ connectionString, client: {} }, /both client and connectionString/],
    [{ connectionString, rot: '/x' }, /no option "rot".*root/],
    [{ connectionString: 7 }, /connectionString is 7/],
    [{ connectionString: '' }, /connectionString is ''/],
    [{ connectionString: 'zookeeper://zk:2181' }, /must look like 'host:2181,host:2181'/],
    [{ connectionString: '[::1]:2181' }, /names or IPv4 addresses/],
    [{ connectionString: 'zk1, zk2' }, /connectionString is/],
    [{ connectionString: 'localhost' }, /'localhost' without a port, but must look like 'host:2181,host:2181'/],
    [{ connectionString: 'zk1:2181,zk2/app' }, /'zk2' without a port/],
    [{ connectionString: 'zk1:2181/app/' }, /connectionString is/],
    [{ connectionString: 'zk1:2181//app' }, /connectionString is/],
    [{ connectionString, root: 'locks' }, /root is 'locks', but must be an absolute path/],
    [{ connectionString, root: '/' }, /root is '\/'/],
    [{ connectionString, root: '/locks/' }, /root is '\/locks\/'/],
    [{ connectionString, root: '/a/../b' }, /root is/],
    [{ connectionString, root: '/a\u0000' }, /root is/],
    [{ connectionString, root: '/zookeeper/locks' }, /not below '\/zookeeper'/],
    [{ connectionString, sessionTimeout: 0 }, /sessionTimeout is 0/],
    [{ connectionString, commandTimeout: 'soon' }, /commandTimeout is 'soon'/],
    [{ connectionString, connectTimeout: NaN }, /connectTimeout is NaN/],
    [{ connectionString, pollInterval: Infinity }, /pollInterval is Infinity/],
    [{ connectionString, tickTime: -1 }, /tickTime is -1/],
    [{ connectionString, sessionTimeout: '3s', tickTime: '2s' }, /tickTime is 2000 ms.*sessionTimeout is 3000 ms/],
    [{ connectionString: 'zk1:99999' }, /port 99999.*from 1 to 65535/],
    [{ connectionString: 'zk1:2181,zk2:0' }, /port 0.*from 1 to 65535/],
    [{ connectionString: 'zk1:2181/a,zk2:2181/a' }, /the chroot stands once, at the end/],
    [{ connectionString, auth: [{ scheme: 'digest', auth: 'app' }] }, /no password/],
    [{ connectionString, auth: 'app:secret' }, /auth must be an array/],
    [{ connectionString, auth: [{ auth: 'app:secret' }] }, /a scheme is undefined/],
    [{ connectionString, auth: [{ scheme: 'digest' }] }, /the credentials of 'digest'/],
    [{ connectionString, acl: [] }, /acl is an array/],
    [{ connectionString, acl: [{}] }, /acl is an array/],
    [{ client: {} }, /client is an object \(Object\), but must be what createClient\(\)/],
    [{ client: { aw_create: () => undefined } }, /client is a client of the package zookeeper/],
    [{ client: 'x' }, /client is 'x'/],
    [{ client: null }, /client is null/],
  ])('refuse %j', (options, message) => {
    expect(refusal(options).message).toMatch(message);
  });

  it('refuse what a client has of its own', () => {
    const client = createClient('localhost:2181');
    expect(refusal({ client, sessionTimeout: '5s' }).message).toMatch(/sessionTimeout is for a connectionString/);
    expect(refusal({ client, auth: [] }).message).toMatch(/Call addAuthInfo\(\)/);
  });

  it('never show a password', () => {
    for (const auth of ['app:hunter2', [{ scheme: 7, auth: 'app:hunter2' }], [{ auth: 'app:hunter2' }]]) {
      const shown = inspect(refusal({ connectionString, auth }), { depth: 20, showHidden: true });
      expect(shown).not.toContain('hunter2');
    }
  });

  it('take what they name', () => {
    expect(zookeeperStore({ client: createClient('localhost:2181'), acl: ACL.CREATOR_ALL_ACL }).name).toBe('zookeeper');
    for (const text of [
      'localhost:2181',
      '10.0.0.1:2181',
      'zk1:2181,zk2:2181,zk3:2181',
      'zk1:2181,zk2:2181/app',
      'zk:2181/app/deep',
      'zk:2181/',
    ]) {
      expect(zookeeperStore({ connectionString: text }).guarantees.expiry).toBe('session');
    }
  });
});

describe('a client of our own', () => {
  const settings = { connectionString, sessionTimeout: 1_000, auth: [] };
  const missing = Object.assign(new Error("Cannot find package 'x'"), { code: 'ERR_MODULE_NOT_FOUND' });

  it('is found in a CommonJS package, whichever way it was loaded', async () => {
    for (const loaded of [{ createClient }, { default: { createClient } }]) {
      const client = await ownClient(settings, async () => loaded);
      expect(client.getState().code).toBe(0);
    }
  });

  it('needs the package', async () => {
    await expect(ownClient(settings, () => Promise.reject(missing))).rejects.toMatchObject({
      code: 'LOCK_OPTIONS',
      message: expect.stringContaining('Install node-zookeeper-client, or pass a client'),
      cause: missing,
    });
  });

  it('does not hide that the package is broken', async () => {
    const broken = new Error('broken');
    await expect(ownClient(settings, () => Promise.reject(broken))).rejects.toBe(broken);
  });
});

describe('names in ZooKeeper', () => {
  it('are safe and short for keys of any text', () => {
    const names = ['a/b', '/', '..', '', 'ключ 🔑\u0000', 'x'.repeat(100_000)].map(keyNode);
    for (const name of names) expect(name).toMatch(/^[\w-]{43}$/);
    expect(new Set(names).size).toBe(names.length);
  });

  it('are in the order in which the server gave them, also where its counter wraps around', () => {
    const owner = 'a'.repeat(32);
    const inOrder = ['2147483646', '2147483647', '-2147483648', '-2147483647'].map((number) => `${owner}-${number}`);
    for (const shuffled of [inOrder, [...inOrder].reverse(), [inOrder[2]!, inOrder[0]!, inOrder[3]!, inOrder[1]!]]) {
      expect(queueOf(shuffled).map(({ name }) => name)).toEqual(inOrder);
    }
    const aroundZero = [`${owner}--000000001`, `${owner}-0000000000`, `${owner}-0000000001`];
    expect(queueOf([...aroundZero].reverse()).map(({ name }) => name)).toEqual(aroundZero);
  });

  it('of others are passed over', () => {
    expect(queueOf(['x', 'lock-0000000001', `${'A'.repeat(32)}-0000000001`, `${'a'.repeat(32)}-1`])).toEqual([]);
  });
});
