import ms from 'ms';
import { LockOptionsError } from '../errors/index.js';

/** Milliseconds, or a text in the form of the `ms` package: `'500ms'`, `'30s'`, `'5m'`, `'1.5h'`. */
export type Duration = number | (string & {}) | `${number}${'ms' | 's' | 'm' | 'h' | 'd'}`;

/** Longer than any lock lives, and within what every server and timer can count. */
const LONGEST = 365 * 24 * 60 * 60 * 1000;

export interface DurationRule {
  /** The smallest value allowed, in ms. */
  readonly min: number;
  /** Whether `Infinity` is allowed. */
  readonly infinite?: boolean;
}

/**
 * A duration in milliseconds.
 *
 * @param name the option, and @param place where it stands, for the message
 * @throws LockOptionsError when it is not a duration, or outside of `rule`
 */
export function parseDuration(value: unknown, rule: DurationRule, name: string, place: string): number {
  const parsed = toMilliseconds(value);
  if (parsed !== undefined && parsed >= rule.min && (parsed <= LONGEST || (rule.infinite && parsed === Infinity)))
    return parsed;
  throw new LockOptionsError(
    `${place}: ${name} is ${show(value)}, but must be a duration from ${rule.min} ms to 365 days` +
      `${rule.infinite ? ', or Infinity' : ''}: a number of milliseconds, or a text such as '500ms', '30s' or '5m'.`,
  );
}

function toMilliseconds(value: unknown): number | undefined {
  if (typeof value === 'number') return Number.isNaN(value) ? undefined : value;
  if (typeof value !== 'string' || value === '' || value.length > 100) return undefined;
  const parsed: number | undefined = ms(value as ms.StringValue);
  return parsed;
}

/** A value as it would stand in source code, for messages. */
export function show(value: unknown): string {
  if (typeof value === 'string') return `'${value}'`;
  if (typeof value === 'function') return 'a function';
  if (typeof value === 'bigint') return `${value}n`;
  if (typeof value === 'object' && value !== null) {
    return Array.isArray(value) ? 'an array' : `an object (${Object.prototype.toString.call(value).slice(8, -1)})`;
  }
  return String(value);
}
