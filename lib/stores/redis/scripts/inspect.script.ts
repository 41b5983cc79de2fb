import { script } from './script.js';

/**
 * Who holds the lock. Reads only.
 *
 * KEYS: 1 lock · 2 queue
 * Returns: {value, remaining ms, length of the queue, seconds, µs} with the server's time last; nil when it is free.
 */
export const inspectScript = script(
  'inspect',
  `
local value = redis.call('GET', KEYS[1])
if not value then
  return nil
end
local remaining = redis.call('PTTL', KEYS[1])
local waiters = redis.call('LLEN', KEYS[2])
local time = redis.call('TIME')
return {value, remaining, waiters, time[1], time[2]}
`,
);
