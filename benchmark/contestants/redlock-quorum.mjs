import { Redis } from 'ioredis';
import { randomBytes } from 'node:crypto';
import { redlockStore } from 'nestjs-distributed-lock/redlock';
import Redlock from 'redlock';
import { locksApp } from '../support/locks-app.mjs';

const COMPARE_AND_DELETE = "return redis.call('get', KEYS[1]) == ARGV[1] and redis.call('del', KEYS[1]) or 0";

/** `redlock:host:port,host:port` */
const hostsOf = ({ redlockUrl }) => redlockUrl.slice('redlock:'.length).split(',');
const clientsOf = (context) => hostsOf(context).map((host) => new Redis(`redis://${host}`));
const quitAll = (clients) => Promise.all(clients.map((client) => client.quit()));

/** The least that a quorum can do: SET NX PX on all nodes, then compare and delete on all, each time until all have answered. */
export async function bareQuorum(context) {
  const clients = clientsOf(context);
  const [sha] = await Promise.all(clients.map((client) => client.script('LOAD', COMPARE_AND_DELETE)));
  return {
    async withLock(key, body) {
      const name = `bare:${key}`;
      const token = randomBytes(16).toString('hex');
      await Promise.all(clients.map((client) => client.set(name, token, 'PX', 30_000, 'NX')));
      try {
        return await body();
      } finally {
        await Promise.all(clients.map((client) => client.evalsha(sha, 1, name, token)));
      }
    },
    close: () => quitAll(clients),
  };
}

export async function oursRedlock(context) {
  const urls = hostsOf(context).map((host) => `redis://${host}`);
  const { locks, close } = await locksApp(redlockStore({ urls, prefix: 'bench' }));
  return { withLock: (key, body) => locks.withLock(key, body), close };
}

export async function redlockOfThree(context) {
  const clients = clientsOf(context);
  const locks = new Redlock(clients, { retryCount: -1, retryDelay: 10, retryJitter: 5 });
  return {
    async withLock(key, body) {
      const lock = await locks.lock(`redlock:${key}`, 30_000);
      try {
        return await body();
      } finally {
        await lock.unlock();
      }
    },
    close: () => quitAll(clients),
  };
}
