import { FencingHeaderError } from '../errors/index.js';
import { show } from '../options/duration.js';
import { tokenOf } from './fence.js';

const TOKEN = 'fencing-token';
const KEY = 'fencing-key';
const DECIMAL = /^[1-9]\d{0,18}$/;

/** Headers in any of the forms that servers and clients have them in. */
export type HeadersLike =
  { get(name: string): string | null } | Readonly<Record<string, string | readonly string[] | undefined>>;

/** What a caller holds, as it says itself. */
export interface RemoteFence {
  /** What it has locked. */
  readonly key: string;
  /** The token of its hold. */
  readonly fencingToken: bigint;
}

/**
 * For a call to another service under a lock: that service can then refuse a caller that has lost it. For one key; its text is
 * percent-encoded, since headers hold ASCII only.
 *
 * @throws LockOptionsError when the lock's store has no fencing tokens
 */
export function fencingHeaders(lock: RemoteFence): { readonly [TOKEN]: string; readonly [KEY]: string } {
  return { [TOKEN]: String(tokenOf(lock, 'fencingHeaders()')), [KEY]: encodeURIComponent(lock.key) };
}

/**
 * The other side of {@link fencingHeaders}: what to compare with what the resource has seen, by `sqlFence()` or `fencedCommand()`. Whoever
 * may send a request may send any token: take it from callers that you trust only.
 *
 * @throws FencingHeaderError (HTTP 400) when a header is missing, repeated, or is not what `fencingHeaders()` makes
 */
export function fencingFrom(headers: HeadersLike): RemoteFence {
  const token = read(headers, TOKEN);
  if (!DECIMAL.test(token)) throw wrong(TOKEN, token, 'a decimal number');
  const fencingToken = BigInt(token);
  if (fencingToken >= 2n ** 63n) throw wrong(TOKEN, token, 'below 2^63');
  return { key: decode(read(headers, KEY)), fencingToken };
}

function read(headers: HeadersLike, name: string): string {
  const value = typeof headers.get === 'function' ? headers.get(name) : (headers as Record<string, unknown>)[name];
  if (typeof value === 'string' && value !== '') return value;
  if (value === undefined || value === null || value === '') {
    throw new FencingHeaderError(
      `The header "${name}" is missing: the call must be made under a lock, with fencingHeaders(lock)`,
    );
  }
  throw wrong(name, value, 'one text');
}

function decode(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    throw wrong(KEY, text, 'percent-encoded UTF-8');
  }
}

function wrong(name: string, value: unknown, what: string): FencingHeaderError {
  return new FencingHeaderError(`The header "${name}" is ${show(value)}, but must be ${what}`);
}
