import { script } from '../../redis/scripts/script.js';

/**
 * Takes the vote from whoever has it, and tells those who wait.
 *
 * KEYS: 1 lock
 * ARGV: 1 channel on which those listen who wait for the lock
 * Returns: 1, or 0 when nobody had it.
 */
export const clearScript = script(
  'clear',
  `
local value = redis.call('GET', KEYS[1])
if not value then
  return 0
end
redis.call('DEL', KEYS[1])
redis.call('PUBLISH', ARGV[1], string.sub(value, 1, 32))
return 1
`,
);
