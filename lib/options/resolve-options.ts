import { LockOptionsError } from '../errors/index.js';
import { parseDuration, show, type DurationRule } from './duration.js';
import { refuseUnknown } from './known-options.js';
import type { AcquireOptions, LockOptions, ResolvedLockOptions } from './lock.options.js';

export const DEFAULT_LOCK_OPTIONS: ResolvedLockOptions = {
  ttl: 30_000,
  renew: true,
  wait: 5_000,
  maxHold: Infinity,
  minHold: 0,
  maxWaiters: Infinity,
  store: undefined,
  guarantee: 'efficiency',
  template: undefined,
  signal: undefined,
  onContended: 'throw',
  onLost: 'report',
  reentrant: false,
  enabled: true,
};

type Check = (value: unknown, name: string, place: string) => unknown;

const duration =
  (rule: DurationRule): Check =>
  (value, name, place) =>
    parseDuration(value, rule, name, place);

const rule =
  (allowed: string, test: (value: unknown) => boolean): Check =>
  (value, name, place) => {
    if (test(value)) return value;
    throw new LockOptionsError(`${place}: ${name} is ${show(value)}, but must be ${allowed}.`);
  };

const bool = rule('true or false', (value) => typeof value === 'boolean');

const CHECKS: Record<keyof ResolvedLockOptions, Check> = {
  ttl: duration({ min: 10 }),
  renew: bool,
  wait: duration({ min: 0, infinite: true }),
  maxHold: duration({ min: 1, infinite: true }),
  minHold: duration({ min: 0 }),
  maxWaiters: rule(
    'a whole number from 0, or Infinity',
    (value) => typeof value === 'number' && value >= 0 && (Number.isInteger(value) || value === Infinity),
  ),
  store: rule("a store's name", (value) => typeof value === 'string' && value !== ''),
  guarantee: rule("'efficiency' or 'correctness'", (value) => value === 'efficiency' || value === 'correctness'),
  template: rule(
    "a text such as 'order:<id>', or a list of them",
    (value) => isTemplate(value) || (Array.isArray(value) && value.length > 0 && value.every(isTemplate)),
  ),
  signal: rule('an AbortSignal', (value) => value instanceof AbortSignal),
  onContended: rule(
    "'throw', 'skip' or a function",
    (value) => value === 'throw' || value === 'skip' || typeof value === 'function',
  ),
  onLost: rule("'report' or 'throw'", (value) => value === 'report' || value === 'throw'),
  reentrant: bool,
  enabled: bool,
};

function isTemplate(value: unknown): boolean {
  return typeof value === 'string' && value !== '';
}

export const LOCK_OPTION_NAMES = Object.keys(CHECKS) as (keyof ResolvedLockOptions)[];

/** What {@link AcquireOptions} has. */
export const ACQUIRE_OPTION_NAMES: readonly (keyof AcquireOptions)[] = [
  'ttl',
  'renew',
  'wait',
  'maxHold',
  'minHold',
  'maxWaiters',
  'store',
  'guarantee',
  'template',
  'signal',
];

/**
 * The options that `given` sets, checked and in milliseconds.
 *
 * @param place where they stand, for the message
 * @param allowed the option names that are known there
 * @throws LockOptionsError that names the option, its value and what is allowed
 */
export function checkOptions(
  given: unknown,
  place: string,
  allowed: readonly string[] = LOCK_OPTION_NAMES,
): Partial<ResolvedLockOptions> {
  if (typeof given !== 'object' || given === null || Array.isArray(given)) {
    throw new LockOptionsError(`${place}: the options are ${show(given)}, but must be an object.`);
  }
  refuseUnknown(given, place, allowed);
  const checked: Record<string, unknown> = {};
  for (const [name, value] of Object.entries(given)) {
    if (value !== undefined) checked[name] = CHECKS[name as keyof ResolvedLockOptions](value, name, place);
  }
  return checked;
}

/** `base` with what `given` sets laid over it. */
export function resolveOptions(
  base: ResolvedLockOptions,
  given: LockOptions | undefined,
  place: string,
  allowed?: readonly string[],
): ResolvedLockOptions {
  if (given === undefined) return base;
  const resolved = { ...base, ...checkOptions(given, place, allowed) };
  if (resolved.minHold > resolved.maxHold) {
    throw new LockOptionsError(
      `${place}: minHold is ${resolved.minHold} ms, but must not be longer than maxHold, which is ${resolved.maxHold} ms.`,
    );
  }
  return resolved;
}

/** @throws LockOptionsError when there are several templates, but not one for each key */
export function checkTemplates(
  template: ResolvedLockOptions['template'],
  keys: readonly string[],
  place: string,
): string | readonly string[] | undefined {
  if (typeof template !== 'object' || template.length === keys.length) return template;
  throw new LockOptionsError(
    `${place}: template is a list of ${template.length}, but the keys are ${keys.length}. Give one text for all keys, or one for each.`,
  );
}
