import { LockLostError, type LockContendedError } from '../errors/index.js';
import type { Backend } from './backend.js';
import type { Hold } from './hold.js';
import type { LockRequest } from './lock.request.js';

/** A body to run under one key or several. */
export interface RunPlan<T> {
  readonly backend: Backend;
  readonly keys: readonly string[];
  readonly request: Omit<LockRequest, 'key' | 'handOff'>;
  readonly reentrant: boolean;
  readonly onLost: 'report' | 'throw';
  /** What to answer when the keys are contended; without it the error is thrown. */
  readonly onContended?: ((error: LockContendedError) => T | Promise<T>) | undefined;
}

/** The plan's request for one of its keys. Field by field: several times faster than a spread, at every single lock. */
export function oneKey(
  { ttl, renew, maxHold, minHold, maxWaiters, signal }: RunPlan<unknown>['request'],
  key: string,
  wait: number,
  handOff: boolean,
): LockRequest {
  return { key, ttl, renew, wait, maxHold, minHold, maxWaiters, handOff, signal };
}

export async function leaveAll(holds: readonly Hold[]): Promise<void> {
  if (holds.length === 1) await holds[0]?.leave();
  else await Promise.all(holds.map((hold) => hold.leave()));
}

/** @throws LockLostError with the body's result, when one of its keys was lost */
export function rethrowLoss(holds: readonly Hold[], result: unknown): void {
  for (const { lostError } of holds) {
    if (lostError !== undefined) {
      throw new LockLostError(lostError.key ?? '', lostError.reason, lostError.cause, result);
    }
  }
}
