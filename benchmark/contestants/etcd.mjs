import { spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { Etcd3 } from 'etcd3';
import { etcdStore } from 'nestjs-distributed-lock/etcd';
import { locksApp } from '../support/locks-app.mjs';

/** The least that a lock in etcd can do, under a lease that is there already: a transaction that puts a key, and its deletion. It cannot wait. */
export async function bareEtcd({ etcdUrl }) {
  const client = new Etcd3({ hosts: etcdUrl });
  const lease = client.lease(60);
  const id = await lease.grant();
  return {
    async withLock(key, body) {
      const name = Buffer.from(`bare/${key}`);
      const value = randomBytes(16);
      const { succeeded } = await client.kv.txn({
        compare: [{ key: name, target: 'Create', result: 'Equal', create_revision: '0' }],
        success: [{ request_put: { key: name, value, lease: id } }],
        failure: [],
      });
      if (!succeeded) throw new Error(`${key} is taken`);
      try {
        return await body();
      } finally {
        await client.kv.deleteRange({ key: name });
      }
    },
    async close() {
      await lease.revoke();
      client.close();
    },
  };
}

/** etcd3's own. It cannot wait: whoever comes second gets an error. */
export async function etcd3Lock({ etcdUrl }) {
  const client = new Etcd3({ hosts: etcdUrl });
  return {
    withLock: (key, body) => client.lock(`etcd3/${key}`).ttl(30).do(body),
    close: async () => client.close(),
  };
}

/** etcd's own client: one process for each lock, which is up and queues long before its turn comes. */
export async function etcdctlLock({ etcdUrl }) {
  return {
    async withLock(key, body) {
      // Warming up means nothing to a program that is started anew each time.
      if (key.startsWith('warm:')) return body();
      const running = spawn('etcdctl', ['--endpoints', etcdUrl, 'lock', `etcdctl/${key}`], {
        env: { ...process.env, ETCDCTL_API: '3' },
        stdio: ['ignore', 'pipe', 'ignore'],
      });
      const ended = once(running, 'close');
      try {
        // It says the name of its entry when it has the lock.
        await Promise.race([
          once(running.stdout, 'data'),
          ended.then(() => Promise.reject(new Error('etcdctl ended'))),
        ]);
        return await body();
      } finally {
        // It gives the lock back, and ends after that.
        running.kill('SIGINT');
        await ended;
      }
    },
    close: async () => undefined,
  };
}

export async function oursEtcd({ etcdUrl }) {
  const { locks, close } = await locksApp(etcdStore({ hosts: etcdUrl, prefix: 'bench' }));
  return { withLock: (key, body) => locks.withLock(key, body), close };
}
