import { grantNext } from './grant-next.js';
import { nextFence } from './next-fence.js';
import { script } from './script.js';

/**
 * Takes the lock, confirms a claim, finds an earlier win whose answer was lost, or queues.
 *
 * KEYS: 1 lock · 2 queue · 3 fence counter
 * ARGV: 1 owner · 2 ttl in ms · 3 label · 4 channel id to queue with, or '' to leave no trace · 5 claim ttl in ms ·
 *       6 queue ttl in ms · 7 prefix of the wake-up channels · 8 key, for the wake-up message · 9 whether PUBLISH counts all who
 *       listen: 0 or 1
 * Returns: {1, fence} when it is held; {0, the holder's remaining ms, the holder's label} when it is contended.
 */
export const acquireScript = script(
  'acquire',
  grantNext,
  nextFence,
  `
local value = redis.call('GET', KEYS[1])
local owner
if value then
  owner = string.sub(value, 1, 32)
else
  owner = grant_next(KEYS[1], KEYS[2], ARGV[5], ARGV[7], ARGV[8], ARGV[9], ARGV[1])
end

if not owner or owner == ARGV[1] then
  local fence = value and string.match(value, '^%x+:(%d+):')
  if not fence or fence == '0' then
    fence = next_fence(KEYS[3])
  end
  redis.call('SET', KEYS[1], ARGV[1] .. ':' .. fence .. ':' .. ARGV[3], 'PX', ARGV[2])
  return {1, fence}
end

if ARGV[4] ~= '' then
  local entry = ARGV[1] .. ':' .. ARGV[4]
  if not redis.call('LPOS', KEYS[2], entry) then
    redis.call('RPUSH', KEYS[2], entry)
  end
  if redis.call('PTTL', KEYS[2]) < tonumber(ARGV[6]) then
    redis.call('PEXPIRE', KEYS[2], ARGV[6])
  end
end
return {0, redis.call('PTTL', KEYS[1]), value and string.match(value, '^%x+:%d+:(.*)$') or ''}
`,
);
