import { LockOptionsError } from '../errors/index.js';
import type { Backend } from './backend.js';

// A clock in µs, shifted by this much, fits a signed 64-bit column until the year 2255.
const HAND_OFF_BITS = 10n;

/** How often one grant of the store can change hands within a process. */
export const MAX_HAND_OFFS = 2 ** Number(HAND_OFF_BITS) - 1;

/** The token of a local hold: the store's, and in its low bits how often the grant has changed hands. */
export function fencingToken(fence: bigint, handOffs: number): bigint {
  return (fence << HAND_OFF_BITS) | BigInt(handOffs);
}

export function noFencing({ name, store }: Backend): LockOptionsError {
  return new LockOptionsError(
    `The store "${name}" (${store.name}) gives no fencing tokens. Check guarantees.fencing first, or use a store that has them.`,
  );
}
