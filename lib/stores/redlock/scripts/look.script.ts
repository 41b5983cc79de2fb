import { script } from '../../redis/scripts/script.js';

/**
 * Who has a node's vote. Reads only.
 *
 * KEYS: 1 lock
 * Returns: {value, remaining ms}; nil when nobody has it.
 */
export const lookScript = script(
  'look',
  `
local value = redis.call('GET', KEYS[1])
if not value then
  return nil
end
return {value, redis.call('PTTL', KEYS[1])}
`,
);
