import { grantNext } from './grant-next.js';
import { script } from './script.js';

/**
 * Leaves the queue, and hands the lock to the next in it, or deletes it, if it is the owner's.
 *
 * KEYS: 1 lock · 2 queue
 * ARGV: 1 what the lock's value must begin with: `owner:`, or `owner:0:` to give back only a claim · 2 queue entry ·
 *       3 claim ttl in ms · 4 prefix of the wake-up channels · 5 key, for the wake-up message · 6 whether PUBLISH counts all who
 *       listen: 0 or 1
 * Returns: 1 when it was the owner's, otherwise 0.
 */
export const releaseScript = script(
  'release',
  grantNext,
  `
redis.call('LREM', KEYS[2], 1, ARGV[2])
local value = redis.call('GET', KEYS[1])
local mine = value and string.sub(value, 1, #ARGV[1]) == ARGV[1]
if value and not mine then
  return 0
end
if not grant_next(KEYS[1], KEYS[2], ARGV[3], ARGV[4], ARGV[5], ARGV[6]) and mine then
  redis.call('DEL', KEYS[1])
end
return mine and 1 or 0
`,
);
