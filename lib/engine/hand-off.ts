import type { HandOffLimits } from './engine.context.js';
import { MAX_HAND_OFFS } from './fencing-token.js';
import type { Hold } from './hold.js';
import type { LockRequest } from './lock.request.js';

/** Whether the next caller can go on with the lease of a hold that has ended, without asking the store. */
export function canHandOff(
  { grant, request, backend }: Hold,
  next: LockRequest,
  { max, time }: HandOffLimits,
  now: number,
): boolean {
  return (
    grant.handOffs < Math.min(max, MAX_HAND_OFFS) &&
    now - grant.since < time &&
    request.handOff &&
    next.handOff &&
    // The next caller gets what is left of the lease: enough only when it is, and will be, renewed. A session keeps itself.
    request.renew &&
    next.renew &&
    next.ttl === request.ttl &&
    grant.storeHold.validUntil - now >= (backend.store.renew === undefined ? 1 : request.ttl / 2)
  );
}
