import { LockKeyError } from '../errors/index.js';
import { show } from '../options/duration.js';

/**
 * A key as it may be handed to a store.
 *
 * @throws LockKeyError unless it is a non-empty, well-formed text
 */
export function checkKey(key: unknown, place: string): string {
  if (typeof key !== 'string' || key === '') {
    throw new LockKeyError(`${place}: the key is ${show(key)}, but must be a non-empty string. Nothing was locked.`);
  }
  // Half a surrogate pair becomes U+FFFD on its way to a server, so that two keys would become one.
  if (!key.isWellFormed()) {
    throw new LockKeyError(
      `${place}: the key holds half of a surrogate pair, which no store can tell from another half. Nothing was locked.`,
    );
  }
  return key;
}

/**
 * One key or several, none of them guessed.
 *
 * @throws LockKeyError for anything else, an empty list included
 */
export function checkKeys(keys: unknown, place: string): readonly string[] {
  // Refused below; its own rejection must not end the process.
  if (keys instanceof Promise) keys.catch(() => undefined);
  if (!Array.isArray(keys)) return [checkKey(keys, place)];
  if (keys.length === 0) {
    throw new LockKeyError(
      `${place}: the list of keys is empty, so that there is nothing to lock. Nothing was locked.`,
    );
  }
  return keys.map((key) => checkKey(key, place));
}
