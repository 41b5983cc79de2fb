import { LockOptionsError } from '../errors/index.js';
import { show } from '../options/duration.js';

/** A lock, what {@link fencingFrom} has read from a request, or a bare token. */
export type Fenced = bigint | { readonly fencingToken: bigint };

const LARGEST = 2n ** 63n - 1n;

/** @throws LockOptionsError unless it is a token, or something that has one */
export function tokenOf(fenced: Fenced, place: string): bigint {
  const token: unknown = typeof fenced === 'object' && (fenced as unknown) !== null ? fenced.fencingToken : fenced;
  if (typeof token === 'bigint' && token > 0n && token <= LARGEST) return token;
  throw new LockOptionsError(
    `${place}: the fencing token is ${show(token)}, but must be a bigint from 1 to 2^63 - 1: pass a lock, or its fencingToken.`,
  );
}
