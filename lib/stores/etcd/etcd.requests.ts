import { setTimeout as sleep } from 'node:timers/promises';
import { systemClock } from '../../contract/index.js';
import { LockUnavailableError } from '../../errors/index.js';
import type { EtcdCallOptions, EtcdClient, EtcdTxnReply } from './etcd.client.js';
import { failureOf, isDeadline, isStaleLogin, unavailable } from './etcd.errors.js';
import type { EtcdRoute, EtcdRoutes } from './etcd.routes.js';

export interface Answer<T> {
  readonly reply: T;
  /** When the request was sent for the first time, on the monotonic clock. */
  readonly start: number;
  /** It was sent more than once, and may have been carried out more than once. */
  readonly repeated: boolean;
}

export interface EtcdTxn {
  readonly compare?: readonly object[];
  readonly success: readonly object[];
  readonly failure?: readonly object[];
}

/** A request as a client is given it. May be sent again, so that it must come to the same when it is carried out twice. */
export type Send<T> = (client: EtcdClient, options: EtcdCallOptions) => Promise<T>;

const SHORTEST_TRY = 200;
const TRIES = 3;
const FIRST_PAUSE = 20;
const LONGEST_PAUSE = 200;
// gRPC's own deadline comes first where it works.
const GRACE = 50;

const unsure = new WeakSet<object>();

/** Whether a request that failed may have been carried out, or still be. */
export function mayStillHappen(error: unknown): boolean {
  return !(typeof error === 'object' && error !== null) || unsure.has(error);
}

/**
 * Sends requests, each bounded in time whatever the client does with it, on the way that works: one that is silent costs a part of
 * the request's time, and the others are tried within the rest.
 */
export class EtcdRequests {
  #closed: LockUnavailableError | undefined;

  constructor(
    readonly routes: EtcdRoutes,
    /** ms */
    private readonly commandTimeout: number,
  ) {}

  /**
   * @param timeout ms
   * @throws LockUnavailableError
   */
  async ask<T>(send: Send<T>, timeout = this.commandTimeout): Promise<Answer<T>> {
    if (this.#closed) throw this.#closed;
    const request = new Request(this.routes, send, timeout);
    try {
      return await request.answer(() => this.#reasonOfClose());
    } catch (error) {
      const reported = this.#reasonOfClose() ?? unavailable(this.routes.address, error);
      if (request.unsure) unsure.add(reported);
      throw reported;
    }
  }

  /** A transaction; without comparisons it is carried out in any case. */
  txn({ compare = [], success, failure = [] }: EtcdTxn, timeout?: number): Promise<Answer<EtcdTxnReply>> {
    const request = { compare, success, failure };
    return this.ask((client, options) => client.kv.txn(request, options), timeout);
  }

  close(reason: LockUnavailableError): void {
    this.#closed ??= reason;
  }

  /** It may come at any time. */
  #reasonOfClose(): LockUnavailableError | undefined {
    return this.#closed;
  }
}

class Request<T> {
  unsure = false;
  readonly #start = systemClock.now();
  readonly #until: number;
  #sent = 0;
  /** The last failure that says more than that the time was over. */
  #telling: Error | undefined;

  constructor(
    private readonly routes: EtcdRoutes,
    private readonly send: Send<T>,
    private readonly timeout: number,
  ) {
    this.#until = this.#start + timeout;
  }

  answer(closed: () => unknown): Promise<Answer<T>> {
    return new Promise((resolve, reject) => {
      const timer = systemClock.after(this.timeout + GRACE, () => {
        this.unsure = true;
        // A process that was blocked runs its timers before it reads: what has come in by now is heard first.
        setImmediate(() => setImmediate(() => reject(this.#telling ?? this.#late())));
      });
      this.#try(closed)
        .then(resolve, reject)
        .finally(() => timer.cancel());
    });
  }

  async #try(closed: () => unknown): Promise<Answer<T>> {
    for (let failures = 0; ; failures += 1) {
      const route = this.routes.current;
      try {
        const reply = await this.send(route.client, this.#options(route));
        return { reply, start: this.#start, repeated: this.#sent > 1 };
      } catch (error) {
        const failure = failureOf(error);
        this.unsure ||= failure.unsure;
        const renewable = isStaleLogin(error) && failures === 0;
        if (renewable) this.routes.renew(route);
        else this.routes.failed(route);
        if (failure.transient && !isDeadline(error)) this.#telling = error as Error;
        if (closed() || !(failure.transient || renewable) || this.#left() <= 0) throw this.#reason(error);
      }
      // Nobody is asked twice in a row without a pause.
      const pause = Math.min(FIRST_PAUSE * 2 ** Math.floor(failures / this.routes.count), LONGEST_PAUSE);
      if ((failures + 1) % this.routes.count === 0) await sleep(Math.min(pause, Math.max(1, this.#left())));
    }
  }

  #options(route: EtcdRoute): EtcdCallOptions {
    const tries = route.retries ? TRIES : Math.min(TRIES, this.routes.count);
    const forOne = Math.max(SHORTEST_TRY, this.timeout / tries);
    const next = (): number => Date.now() + Math.max(1, Math.min(forOne, this.#left()));
    if (!route.retries) {
      this.#sent += 1;
      return { deadline: next() };
    }
    // etcd3 reads the options anew whenever it tries again, which it does on another member: a deadline for each.
    let reading = false;
    const count = (): void => {
      if (reading) return;
      reading = true;
      this.#sent += 1;
      queueMicrotask(() => (reading = false));
    };
    return {
      get deadline() {
        count();
        return next();
      },
    };
  }

  #left(): number {
    return this.#until - systemClock.now();
  }

  /** The last try may have had no time left: an earlier one says why. */
  #reason(last: unknown): unknown {
    return isDeadline(last) ? (this.#telling ?? last) : last;
  }

  #late(): LockUnavailableError {
    return new LockUnavailableError(
      `etcd at ${this.routes.address} gave no answer within ${Math.round(this.timeout)} ms`,
    );
  }
}
