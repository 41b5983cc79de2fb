import { redisStore } from 'nestjs-distributed-lock/redis';
import { locksApp } from '../support/locks-app.mjs';

export async function ours({ redisUrl }) {
  const { locks, close } = await locksApp(redisStore({ url: redisUrl, prefix: 'bench' }));
  return { withLock: (key, body) => locks.withLock(key, body), close };
}
