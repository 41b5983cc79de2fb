import { script } from '../../redis/scripts/script.js';
import { voteRound } from './vote-round.js';

/**
 * Takes an owner's vote back, unless it is of a later round than the one that is meant, and tells those who wait.
 *
 * KEYS: 1 lock
 * ARGV: 1 owner · 2 round · 3 channel on which those listen who wait for the lock
 * Returns: 1 and the number of those when the owner had the vote, otherwise 0.
 */
export const withdrawScript = script(
  'withdraw',
  voteRound,
  `
local value = redis.call('GET', KEYS[1])
if not value or string.sub(value, 1, 32) ~= ARGV[1] or vote_round(value) > tonumber(ARGV[2]) then
  return 0
end
redis.call('DEL', KEYS[1])
return 1 + redis.call('PUBLISH', ARGV[3], ARGV[1])
`,
);
