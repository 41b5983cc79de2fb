/**
 * next_fence(counter)
 *
 * A hybrid clock: the server's time in µs, or one more than the last token where that is larger. It grows with every
 * call while the counter lasts, and does not fall back to 1 when the data set is lost.
 *
 * Returns text: Lua would print a number of this size in exponential form.
 */
export const nextFence = `
local function next_fence(counter)
  local time = redis.call('TIME')
  local fence = string.format('%.0f', time[1] * 1000000 + time[2])
  local last = tonumber(redis.call('SET', counter, fence, 'GET') or 0)
  if last >= tonumber(fence) then
    fence = string.format('%.0f', last + 1)
    redis.call('SET', counter, fence)
  end
  return fence
end
`;
