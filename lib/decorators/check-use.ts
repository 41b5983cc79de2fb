import { LockOptionsError } from '../errors/index.js';
import { checkOptions, LOCK_OPTION_NAMES, show } from '../options/index.js';
import type { DistributedLockOptions } from './distributed-lock.options.js';
import type { Method } from './locked-method.js';

const OPTION_NAMES = [
  ...LOCK_OPTION_NAMES.filter((name) => name !== 'signal'),
  'condition',
  'returns',
  'abortOnDisconnect',
];
const SHAPES: readonly unknown[] = ['promise', 'observable', 'asyncIterable'];

/**
 * The method that the decorator stands on.
 *
 * @param use the decorator as it stands in the source, for messages
 * @throws LockOptionsError when it stands on anything else
 */
export function decoratedMethod(
  use: string,
  target: object,
  name: string | symbol | undefined,
  descriptor: unknown,
): Method {
  const fix = 'Put it on a method of a class that Nest creates.';
  if (typeof name === 'object') {
    throw new LockOptionsError(
      `${use} was compiled as a standard decorator. Nest needs "experimentalDecorators": true in tsconfig.json.`,
    );
  }
  if (name === undefined) throw new LockOptionsError(`${use} stands on the class ${(target as Method).name}. ${fix}`);
  const owner = typeof target === 'function' ? (target as Method).name : target.constructor.name;
  const where = `${use} stands on ${owner}.${String(name)}`;
  if (typeof descriptor === 'number') throw new LockOptionsError(`${where}, on a parameter. ${fix}`);
  if (typeof target === 'function') throw new LockOptionsError(`${where}, which is static. ${fix}`);
  if (descriptor === undefined) throw new LockOptionsError(`${where}, which is a property. ${fix}`);
  const { get, set, value } = descriptor as { get?: unknown; set?: unknown; value?: unknown };
  if (get !== undefined || set !== undefined) throw new LockOptionsError(`${where}, which is an accessor. ${fix}`);
  if (typeof value !== 'function') throw new LockOptionsError(`${where}, which is no method. ${fix}`);
  return value as Method;
}

/** @throws LockOptionsError that names the option, its value and what is allowed */
export function checkDecoratorOptions(options: unknown, place: string): DistributedLockOptions {
  const { condition, returns, abortOnDisconnect, ...given } = (options ?? {}) as Record<string, unknown>;
  // Unknown names are told together with the names that only a decorator has.
  checkOptions(typeof options === 'object' && options !== null ? given : options, place, OPTION_NAMES);
  if (condition !== undefined && typeof condition !== 'function') {
    throw new LockOptionsError(
      `${place}: condition is ${show(condition)}, but must be a function of the method's arguments.`,
    );
  }
  if (returns !== undefined && !SHAPES.includes(returns)) {
    throw new LockOptionsError(
      `${place}: returns is ${show(returns)}, but must be 'promise', 'observable' or 'asyncIterable'.`,
    );
  }
  if (abortOnDisconnect !== undefined && typeof abortOnDisconnect !== 'boolean') {
    throw new LockOptionsError(`${place}: abortOnDisconnect is ${show(abortOnDisconnect)}, but must be true or false.`);
  }
  return options as DistributedLockOptions;
}
