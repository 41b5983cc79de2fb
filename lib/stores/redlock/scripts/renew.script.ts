import { script } from '../../redis/scripts/script.js';

/**
 * Extends votes. Never creates one.
 *
 * KEYS: one lock each
 * ARGV: for each lock its owner and its ttl in ms
 * Returns: for each lock 1 when it was extended, 0 when the owner does not have the vote.
 */
export const renewScript = script(
  'renew',
  `
local outcomes = {}
for i, lock in ipairs(KEYS) do
  local value = redis.pcall('GET', lock)
  if type(value) == 'table' then
    -- One key that was overwritten with something else is that key's loss only.
    if not string.find(value.err, 'WRONGTYPE', 1, true) then
      return value
    end
    value = false
  end
  if value and string.sub(value, 1, 32) == ARGV[2 * i - 1] then
    outcomes[i] = redis.call('PEXPIRE', lock, ARGV[2 * i])
  else
    outcomes[i] = 0
  end
end
return outcomes
`,
);
