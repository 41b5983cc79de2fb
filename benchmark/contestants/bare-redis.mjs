import { Redis } from 'ioredis';
import { randomBytes } from 'node:crypto';

const COMPARE_AND_DELETE = "return redis.call('get', KEYS[1]) == ARGV[1] and redis.call('del', KEYS[1]) or 0";

/** The least that a lock on Redis can do: SET NX PX, and a script that compares and deletes. It cannot wait. */
export async function bareRedis({ redisUrl }) {
  const client = new Redis(redisUrl);
  const sha = await client.script('LOAD', COMPARE_AND_DELETE);
  return {
    async withLock(key, body) {
      const name = `bare:${key}`;
      const token = randomBytes(16).toString('hex');
      if ((await client.set(name, token, 'PX', 30_000, 'NX')) !== 'OK') throw new Error(`${name} is taken`);
      try {
        return await body();
      } finally {
        await client.evalsha(sha, 1, name, token);
      }
    },
    close: () => client.quit(),
  };
}
