import { Inject, Injectable, Logger } from '@nestjs/common';
import type { StoreName } from '../engine/lock.telemetry.js';
import { LockOptionsError } from '../errors/index.js';
import { LockService } from '../lock.service.js';
import { codeOf } from '../observability/error-code.js';
import { parseDuration, refuseUnknown, show, type Duration } from '../options/index.js';
import { answerOf, type Answer } from './answer.js';
import { failureForTerminus10 } from './terminus-10.js';

export interface LockHealthOptions {
  /** The one store to ask, by its name in the module. Default: all of them. */
  readonly store?: string;
  /** How long each store has to answer. From 1 ms; default 1 s. */
  readonly timeout?: Duration;
}

export interface LockStoreHealth {
  readonly status: 'up' | 'down';
  /** What the store is: `redis`. */
  readonly backend: string;
  /** ms. */
  readonly responseTime: number;
  /** Why it is down, as a code: `ECONNREFUSED`, `TIMEOUT`, or `UNAVAILABLE` where nothing more is known. The log says more. */
  readonly reason?: string;
}

/** `up` when every store that was asked has answered. */
export interface LockHealth {
  readonly status: 'up' | 'down';
  readonly stores: Readonly<Record<string, LockStoreHealth>>;
  /** `false` where locking is switched off, and no store was asked. */
  readonly enabled?: false;
}

const OPTION_NAMES = ['store', 'timeout'];
/** Read, and never locked. */
const KEY = 'nestjs-distributed-lock:health';

/**
 * Tells `@nestjs/terminus` whether the stores of the locks answer, by a real round trip to each:
 * `health.check([() => locks.pingCheck('locks')])`.
 */
@Injectable()
export class LockHealthIndicator {
  readonly #down = new Set<string>();
  readonly #logger = new Logger('LockHealthIndicator');

  /** @internal */
  constructor(@Inject(LockService) private readonly locks: LockService) {}

  /**
   * Asks one store, or all of them at the same time. A store that is down makes no error, but with Terminus 10, which needs one.
   *
   * @param key what the result is called
   * @throws LockOptionsError for an unknown option or store
   */
  async pingCheck<Key extends string>(key: Key, options: LockHealthOptions = {}): Promise<Record<Key, LockHealth>> {
    const { stores, timeout } = this.#resolve(options);
    const result = (health: LockHealth) => ({ [key]: health }) as Record<Key, LockHealth>;
    // The module then needs no store to start with, so that none needs to answer.
    if (!this.locks.options().enabled) return result({ status: 'up', stores: {}, enabled: false });
    const found = await Promise.all(
      stores.map(async (store) => [store.name, await this.#ask(store, timeout)] as const),
    );
    const status = found.every(([, health]) => health.status === 'up') ? 'up' : 'down';
    const health = result({ status, stores: Object.fromEntries(found) });
    if (status === 'down') throwIf(await failureForTerminus10(key, health));
    return health;
  }

  #resolve(options: LockHealthOptions): { stores: readonly StoreName[]; timeout: number } {
    const place = 'pingCheck()';
    refuseUnknown(options, place, OPTION_NAMES);
    const timeout = parseDuration(options.timeout ?? '1s', { min: 1 }, 'timeout', place);
    const all = this.locks.stores();
    const stores = options.store === undefined ? all : all.filter(({ name }) => name === options.store);
    if (stores.length > 0) return { stores, timeout };
    const known = all.map(({ name }) => `"${name}"`).join(', ');
    throw new LockOptionsError(`${place}: there is no store ${show(options.store)}; the module has ${known}.`);
  }

  async #ask({ name, backend }: StoreName, timeout: number): Promise<LockStoreHealth> {
    const since = performance.now();
    const answer = await answerOf(() => this.locks.inspect(KEY, { store: name }), timeout);
    this.#log(name, answer);
    const responseTime = Math.round(performance.now() - since);
    if (answer === 'answered') return { status: 'up', backend, responseTime };
    const reason = answer === 'late' ? 'TIMEOUT' : (codeOf(answer.error) ?? 'UNAVAILABLE');
    return { status: 'down', backend, responseTime, reason };
  }

  /** What must not stand in a public answer, once for every change. */
  #log(store: string, answer: Answer): void {
    if (answer === 'answered') {
      if (this.#down.delete(store)) this.#logger.log(`The store "${store}" answers again.`);
    } else if (!this.#down.has(store)) {
      this.#down.add(store);
      const reason = answer === 'late' ? 'it gave no answer in time' : reasonOf(answer.error);
      this.#logger.warn(`The store "${store}" is down: ${reason}`);
    }
  }
}

/** What the store itself said. */
function reasonOf(error: unknown): string {
  const { cause = error } = error as { cause?: unknown };
  return cause instanceof Error ? cause.message : String(cause);
}

function throwIf(error: Error | undefined): void {
  if (error !== undefined) throw error;
}
