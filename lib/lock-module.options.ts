import { hostname } from 'node:os';
import type { Clock, LockStore } from './contract/index.js';
import type { HandOffLimits } from './engine/engine.context.js';
import type { LockTelemetry } from './engine/lock.telemetry.js';
import { LockOptionsError } from './errors/index.js';
import type { LockErrorAnswer, LockHandling } from './interceptors/lock.handling.js';
import { requireGuarantee } from './lock.guarantee.js';
import {
  DEFAULT_LOCK_OPTIONS,
  LOCK_OPTION_NAMES,
  parseDuration,
  resolveOptions,
  show,
  unknownOption,
  type Duration,
  type LockOptions,
  type ResolvedLockOptions,
} from './options/index.js';

/** How long a lock may be passed on within one process before other processes get their turn. */
export interface HandOffOptions {
  /** How many times in a row, up to 1023; 0 switches it off. Default 16. */
  readonly max?: number;
  /** For how long after the store granted it. Default 50 ms. */
  readonly time?: Duration;
}

/** What `LockModule.forRoot()` takes: where locks are kept, and the defaults for every lock. */
export interface LockModuleOptions extends Omit<LockOptions, 'signal' | 'store' | 'template'> {
  /** The store, when there is one. */
  readonly store?: LockStore;
  /** Several stores by name; `default`, or the one that `defaultStore` names, serves those who name none. */
  readonly stores?: Readonly<Record<string, LockStore>>;
  readonly defaultStore?: string;
  /** `true` opens a store at its first use instead of at bootstrap, so that an unreachable one is no start-up error. Default `false`. */
  readonly lazyConnect?: boolean;
  /** How long `app.close()` lets running bodies finish under their locks. Default 10 s. */
  readonly shutdownTimeout?: Duration;
  readonly handOff?: HandOffOptions;
  /**
   * Whether `signal` of a decorated method's lock aborts too when the client of its request disconnects. The lock itself
   * stays until the method has ended. Default `false`.
   */
  readonly abortOnDisconnect?: boolean;
  /**
   * What a lock error becomes on its way out of a handler: what this answers is raised in its place; `undefined` leaves
   * it to the default of the transport. Default: the transport's own exception, with our code and no key in it.
   */
  readonly errors?: LockErrorAnswer;
  /** What stores and errors show as the holder. Default: host name and process id. */
  readonly instance?: string;
  /** For tests: the clock that the store has too, such as `manualClock()`. Default: the process's monotonic clock. */
  readonly clock?: Clock;
  /** What makes metrics and traces of the locks, such as `openTelemetry()`. Default: none. */
  readonly telemetry?: LockTelemetry;
}

export interface ResolvedModuleOptions {
  readonly stores: ReadonlyMap<string, LockStore>;
  /** With the default store's name filled in. */
  readonly defaults: ResolvedLockOptions & { readonly store: string };
  readonly lazyConnect: boolean;
  readonly shutdownTimeout: number;
  readonly handOff: HandOffLimits;
  readonly handling: LockHandling;
  readonly instance: string;
  readonly clock: Clock | undefined;
  readonly telemetry: LockTelemetry | undefined;
}

const PLACE = 'LockModule';
const LOCK_DEFAULTS = LOCK_OPTION_NAMES.filter((name) => !['store', 'signal', 'template'].includes(name));
const OWN_NAMES = [
  'store',
  'stores',
  'defaultStore',
  'lazyConnect',
  'shutdownTimeout',
  'handOff',
  'abortOnDisconnect',
  'errors',
  'instance',
  'clock',
  'telemetry',
];
const STORE_METHODS = ['open', 'acquire', 'abandon', 'inspect', 'forceRelease', 'close'] as const;

/** @throws LockOptionsError that names the option, its value and what is allowed */
export function resolveModuleOptions(options: LockModuleOptions): ResolvedModuleOptions {
  if (!isObject(options)) {
    throw new LockOptionsError(
      `${PLACE}: the options are ${show(options)}, but must be an object such as { store: memoryStore() }.`,
    );
  }
  const own: Record<string, unknown> = {};
  const rest: Record<string, unknown> = {};
  for (const [name, value] of Object.entries(options)) {
    if (OWN_NAMES.includes(name)) own[name] = value;
    else if (LOCK_DEFAULTS.includes(name as never)) rest[name] = value;
    else if (name === 'isGlobal')
      throw new LockOptionsError(`${PLACE}: isGlobal stands beside useFactory, not in what it returns.`);
    else throw unknownOption(name, PLACE, [...OWN_NAMES, ...LOCK_DEFAULTS, 'isGlobal']);
  }
  const stores = resolveStores(options);
  const defaults = {
    ...resolveOptions(DEFAULT_LOCK_OPTIONS, rest, PLACE, LOCK_DEFAULTS),
    store: resolveDefaultStore(stores, options.defaultStore),
  };
  const [name, first] = [defaults.store, stores.get(defaults.store) as LockStore];
  if (defaults.enabled) requireGuarantee({ name, store: first }, defaults.guarantee, PLACE);
  return {
    stores,
    defaults,
    // Where locking is switched off, a store that is out of reach must not keep the application from starting.
    lazyConnect: flag(options.lazyConnect ?? false, 'lazyConnect') || !defaults.enabled,
    shutdownTimeout: parseDuration(options.shutdownTimeout ?? '10s', { min: 0 }, 'shutdownTimeout', PLACE),
    handOff: resolveHandOff(options.handOff),
    handling: {
      abortOnDisconnect: flag(options.abortOnDisconnect ?? false, 'abortOnDisconnect'),
      errors: resolveErrors(options.errors),
    },
    instance: resolveInstance(options.instance),
    clock: resolveClock(options.clock),
    telemetry: resolveTelemetry(options.telemetry),
  };
}

function resolveStores({ store, stores }: LockModuleOptions): ReadonlyMap<string, LockStore> {
  if ((store === undefined) === (stores === undefined)) {
    throw new LockOptionsError(
      `${PLACE}: ${store === undefined ? 'neither store nor stores is set' : 'both store and stores are set'}. Give one: ` +
        '{ store: redisStore({ … }) } or { stores: { default: redisStore({ … }), jobs: … } }.',
    );
  }
  const found = store === undefined ? Object.entries(stores ?? {}) : [['default', store] as const];
  if (found.length === 0) throw new LockOptionsError(`${PLACE}: stores is empty. Give at least one store.`);
  for (const [name, candidate] of found) checkStore(candidate, store === undefined ? `stores.${name}` : 'store');
  return new Map(found);
}

function checkStore(store: unknown, name: string): asserts store is LockStore {
  const missing = STORE_METHODS.filter(
    (method) => typeof (store as Record<string, unknown> | null | undefined)?.[method] !== 'function',
  );
  if (missing.length === 0) return;
  const fix =
    store instanceof Promise
      ? 'Await it, in the useFactory of forRootAsync().'
      : "Give what redisStore(), postgresStore() or another store's function returns.";
  throw new LockOptionsError(
    `${PLACE}: ${name} is ${show(store)}, which is no store (it has no ${missing.join('(), no ')}()). ${fix}`,
  );
}

function resolveDefaultStore(stores: ReadonlyMap<string, LockStore>, given: string | undefined): string {
  const names = [...stores.keys()];
  const known = names.map((name) => `"${name}"`).join(', ');
  if (given !== undefined) {
    if (stores.has(given)) return given;
    throw new LockOptionsError(`${PLACE}: defaultStore is ${show(given)}, but the stores are ${known}.`);
  }
  if (stores.has('default')) return 'default';
  if (names.length === 1) return names[0] as string;
  throw new LockOptionsError(
    `${PLACE}: which of the stores ${known} is the default? Name it in defaultStore, or call one "default".`,
  );
}

function resolveHandOff(given: HandOffOptions | undefined): HandOffLimits {
  if (given !== undefined && !isObject(given)) {
    throw new LockOptionsError(
      `${PLACE}: handOff is ${show(given)}, but must be an object: { max: 16, time: '50ms' }.`,
    );
  }
  const { max = 16, time = '50ms', ...others } = given ?? {};
  const [unknown] = Object.keys(others);
  if (unknown !== undefined) throw unknownOption(`handOff.${unknown}`, PLACE, ['handOff.max', 'handOff.time']);
  if (!Number.isInteger(max) || max < 0 || max > 1023) {
    throw new LockOptionsError(`${PLACE}: handOff.max is ${show(max)}, but must be a whole number from 0 to 1023.`);
  }
  return { max, time: parseDuration(time, { min: 0, infinite: true }, 'handOff.time', PLACE) };
}

function resolveErrors(given: unknown): LockErrorAnswer | undefined {
  if (given === undefined || typeof given === 'function') return given as LockErrorAnswer | undefined;
  throw new LockOptionsError(
    `${PLACE}: errors is ${show(given)}, but must be a function: (error, context) => what to raise instead.`,
  );
}

function resolveClock(given: LockModuleOptions['clock']): LockModuleOptions['clock'] {
  if (given === undefined) return undefined;
  if (['now', 'after'].every((name) => typeof (given as unknown as Record<string, unknown>)[name] === 'function'))
    return given;
  throw new LockOptionsError(
    `${PLACE}: clock is ${show(given)}, but must have now() and after(), as manualClock() has.`,
  );
}

function resolveInstance(given: unknown): string {
  if (given === undefined) return `${hostname()}:${process.pid}`;
  if (typeof given === 'string' && given !== '' && given.length <= 200) return given;
  throw new LockOptionsError(`${PLACE}: instance is ${show(given)}, but must be a text of 1 to 200 characters.`);
}

function resolveTelemetry(given: LockTelemetry | undefined): LockTelemetry | undefined {
  if (given === undefined || typeof (given as Partial<LockTelemetry> | null)?.attach === 'function') return given;
  throw new LockOptionsError(
    `${PLACE}: telemetry is ${show(given)}, which has no attach(). Give what openTelemetry() returns.`,
  );
}

function flag(value: unknown, name: string): boolean {
  if (typeof value === 'boolean') return value;
  throw new LockOptionsError(`${PLACE}: ${name} is ${show(value)}, but must be true or false.`);
}

function isObject(value: unknown): value is object {
  return typeof value === 'object' && value !== null;
}
