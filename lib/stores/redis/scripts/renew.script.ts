import { script } from './script.js';

/**
 * Extends leases. Never creates one.
 *
 * KEYS: one lock each
 * ARGV: for each lock its owner and its ttl in ms
 * Returns: for each lock 1 when it was extended, 0 when it is not the owner's.
 */
export const renewScript = script(
  'renew',
  `
local outcomes = {}
for i, lock in ipairs(KEYS) do
  local value = redis.call('GET', lock)
  if value and string.sub(value, 1, 32) == ARGV[2 * i - 1] then
    outcomes[i] = redis.call('PEXPIRE', lock, ARGV[2 * i])
  else
    outcomes[i] = 0
  end
end
return outcomes
`,
);
