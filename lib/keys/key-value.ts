import { LockKeyError } from '../errors/index.js';
import { show } from '../options/duration.js';

/** What a variable part of a key may be. */
export type KeyValue = string | number | bigint | boolean;

/** Writes one variable part of a key. */
export type EncodeValue = (value: unknown, name: string, place: string) => string;

const COLON = 0x3a;

/**
 * An encoder for values that stand before `next` in a key.
 *
 * Where a value ends must be plain from the key, or `('x:y', 'z')` and `('x', 'y:z')` would be one key. So the first
 * character of what follows is written as a percent escape within the value, as are `:`, `%` and control characters.
 */
export function valueEncoder(next: string): EncodeValue {
  const stop = (next.codePointAt(0) ?? COLON).toString(16);
  const special = new RegExp(`[%:\\u0000-\\u001f\\u007f\\u{${stop}}]`, 'gu');
  return (value, name, place) => {
    const text = textOf(value, name, place);
    return text.replace(special, percentEscape);
  };
}

function textOf(value: unknown, name: string, place: string): string {
  if (typeof value === 'string' ? value !== '' && value.isWellFormed() : isScalar(value)) return String(value);
  throw new LockKeyError(
    `${place}: ${name} is ${show(value)}, but must be a non-empty string, a finite number, a bigint or a boolean. ` +
      'Nothing was locked.',
  );
}

function isScalar(value: unknown): value is number | bigint | boolean {
  return Number.isFinite(value) || typeof value === 'bigint' || typeof value === 'boolean';
}

function percentEscape(character: string): string {
  const code = character.charCodeAt(0);
  if (code > 127) return encodeURIComponent(character);
  return `%${code.toString(16).toUpperCase().padStart(2, '0')}`;
}
