import { grantNext } from './grant-next.js';
import { script } from './script.js';

/**
 * Takes the lock from whoever holds it, and hands it to the next in the queue.
 *
 * KEYS: 1 lock · 2 queue
 * ARGV: 1 claim ttl in ms · 2 prefix of the wake-up channels · 3 key, for the wake-up message · 4 whether PUBLISH counts all who
 *       listen: 0 or 1
 * Returns: 1, or 0 when it was free.
 */
export const forceReleaseScript = script(
  'force-release',
  grantNext,
  `
if not redis.call('GET', KEYS[1]) then
  return 0
end
if not grant_next(KEYS[1], KEYS[2], ARGV[1], ARGV[2], ARGV[3], ARGV[4]) then
  redis.call('DEL', KEYS[1])
end
return 1
`,
);
