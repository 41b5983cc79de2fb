import { createHash, randomBytes } from 'node:crypto';
import { once } from 'node:events';
import zookeeper from 'node-zookeeper-client';
import { zookeeperStore } from 'nestjs-distributed-lock/zookeeper';
import { locksApp } from '../support/locks-app.mjs';

const EPHEMERAL_SEQUENTIAL = 3;
const PERSISTENT = 0;

const addressIn = (url) => url.replace(/^zookeeper:\/\//, '');

/** The least that a lock in ZooKeeper can do: create an entry, read the queue, delete the entry. It cannot wait. */
export async function bareZookeeper({ zookeeperUrl }) {
  const client = zookeeper.createClient(addressIn(zookeeperUrl));
  client.connect();
  await once(client, 'connected');
  const call = (method, ...args) =>
    new Promise((resolve, reject) => {
      client[method](...args, (error, result) => (error ? reject(error) : resolve(result)));
    });
  const make = (path) =>
    call('create', path, Buffer.alloc(0), undefined, PERSISTENT).catch((error) => {
      if (error.getCode() !== zookeeper.Exception.NODE_EXISTS) throw error;
    });
  await make('/bare');
  const made = new Set();
  return {
    async withLock(key, body) {
      const parent = `/bare/${createHash('sha256').update(key).digest('base64url')}`;
      if (!made.has(parent)) await make(parent);
      made.add(parent);
      const name = `${parent}/${randomBytes(16).toString('hex')}-`;
      const path = await call('create', name, Buffer.from(key), undefined, EPHEMERAL_SEQUENTIAL);
      const children = await call('getChildren', parent, undefined);
      if (children.length > 1) throw new Error(`${key} is taken`);
      try {
        return await body();
      } finally {
        await call('remove', path, -1);
      }
    },
    close: () => client.close(),
  };
}

export async function oursZookeeper({ zookeeperUrl }) {
  const { locks, close } = await locksApp(
    zookeeperStore({ connectionString: addressIn(zookeeperUrl), root: '/bench' }),
  );
  return { withLock: (key, body) => locks.withLock(key, body), close };
}
