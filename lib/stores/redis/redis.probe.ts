import { randomBytes } from 'node:crypto';
import type { RedisLocks } from './redis.locks.js';
import type { WakeUps } from './redis.wake-ups.js';

const TTL = 5_000;
// A message that takes longer costs a process no more than its next poll.
const WAKE_UP_PATIENCE = 250;
const never = new AbortController().signal;

/**
 * Goes once through everything that the store will ever send, on a key of its own, so that a missing permission or a
 * replica that cannot be written to is found when the application starts. Two owners: the first holds, the second
 * queues and is handed the lock.
 */
export async function probe(locks: RedisLocks, wakeUps: WakeUps, label: string): Promise<void> {
  const key = `probe:${randomBytes(16).toString('hex')}`;
  const holder = randomBytes(16).toString('hex');
  const waiter = randomBytes(16).toString('hex');
  await locks.acquire({ key, owner: holder, label, ttl: TTL, queue: false });
  await locks.renew([{ key, owner: holder, ttl: TTL }]);
  await wakeUps.during(waiter, async (bell) => {
    await locks.acquire({ key, owner: waiter, label, ttl: TTL, queue: true });
    await locks.inspect(key);
    await locks.release(key, holder);
    await bell.sleep(WAKE_UP_PATIENCE, never);
  });
  await locks.release(key, waiter);
}
