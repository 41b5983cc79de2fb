/**
 * grant_next(lock, queue, claim_ttl, wake, key, counted, me)
 *
 * Pops the queue until somebody takes the lock, which must be free or the caller's to give away:
 * - `me`, where given, is returned and takes the lock itself;
 * - another owner whose process still listens gets a claim for `claim_ttl` ms and a message, and is returned;
 * - an owner whose process does not listen any more (PUBLISH reaches nobody) is dropped. In a cluster PUBLISH counts only those
 *   who listen at this very node, so that nothing is `counted` ('0'): an owner who is gone costs its claim's time.
 *
 * Returns nil when the queue has run empty, leaving the lock as it was.
 */
export const grantNext = `
local function grant_next(lock, queue, claim_ttl, wake, key, counted, me)
  while true do
    local entry = redis.call('LPOP', queue)
    if not entry then
      return nil
    end
    local owner = string.sub(entry, 1, 32)
    if owner == me then
      return owner
    end
    local heard = redis.call('PUBLISH', wake .. string.sub(entry, 34), owner .. ':' .. key)
    if heard > 0 or counted == '0' then
      redis.call('SET', lock, owner .. ':0:', 'PX', claim_ttl)
      return owner
    end
  end
end
`;
