import { script } from '../../redis/scripts/script.js';
import { voteRound } from './vote-round.js';

/**
 * Asks one node for its vote, or for the one it has given already.
 *
 * A vote that was asked for in an earlier round and comes late never takes the place of a later one: it would be
 * withdrawn together with its own round.
 *
 * KEYS: 1 lock
 * ARGV: 1 owner · 2 round · 3 value to store, which begins with the owner · 4 ttl in ms
 * Returns: {1} when the owner has the vote; {0, the holder's remaining ms, the value} when somebody else has it.
 */
export const voteScript = script(
  'vote',
  voteRound,
  `
local value = redis.call('GET', KEYS[1])
if value and (string.sub(value, 1, 32) ~= ARGV[1] or vote_round(value) > tonumber(ARGV[2])) then
  return {0, redis.call('PTTL', KEYS[1]), value}
end
redis.call('SET', KEYS[1], ARGV[3], 'PX', ARGV[4])
return {1}
`,
);
