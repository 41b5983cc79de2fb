import { Redis } from 'ioredis';
import { Mutex } from 'redis-semaphore';

/** redis-semaphore's Mutex. It polls every 10 ms by default. */
export async function redisSemaphore({ redisUrl }) {
  const client = new Redis(redisUrl);
  return {
    async withLock(key, body) {
      const mutex = new Mutex(client, key, { lockTimeout: 30_000, acquireTimeout: 3_600_000 });
      await mutex.acquire();
      try {
        return await body();
      } finally {
        await mutex.release();
      }
    },
    close: () => client.quit(),
  };
}
