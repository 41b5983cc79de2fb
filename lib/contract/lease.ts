/**
 * Until when a lease is certain, on the clock of `start`: what the Redlock algorithm allows for clocks that run at
 * slightly different speeds (1 % of the lease time) and for timers' granularity (2 ms).
 *
 * @param start when the request that won or renewed it was sent, not when its answer came
 * @see https://redis.io/docs/latest/develop/use/patterns/distributed-locks/
 */
export function leaseDeadline(start: number, ttl: number): number {
  return start + ttl - (ttl * 0.01 + 2);
}
