import { setTimeout as sleep } from 'node:timers/promises';
import { systemClock } from '../../contract/index.js';
import type { LockUnavailableError } from '../../errors/index.js';
import { bounded } from '../shared/bounded.js';
import type { EtcdCall, EtcdCallOptions, EtcdClient, EtcdTxnReply } from './etcd.client.js';
import { failureOf, isDeadline, isStaleLogin, NoAnswerError, unavailable } from './etcd.errors.js';
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
/** ms that a client of somebody else, which keeps to its deadlines by itself, is waited for beyond them. */
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
  ask<T>(send: Send<T>, timeout = this.commandTimeout): Promise<Answer<T>> {
    return new Request(this, send, timeout).answer();
  }

  /** A transaction; without comparisons it is carried out in any case. */
  txn({ compare = [], success, failure = [] }: EtcdTxn, timeout?: number): Promise<Answer<EtcdTxnReply>> {
    const request = { compare, success, failure };
    return this.ask((client, options) => client.kv.txn(request, options), timeout);
  }

  close(reason: LockUnavailableError): void {
    this.#closed ??= reason;
  }

  /** Why nobody is to be asked any more, if so. It may come at any time. */
  reasonOfClose(): LockUnavailableError | undefined {
    return this.#closed;
  }
}

class Request<T> {
  readonly #start = systemClock.now();
  readonly #until: number;
  #sent = 0;
  #unsure = false;
  /** The last failure that says more than that the time was over. */
  #telling: Error | undefined;

  constructor(
    private readonly requests: EtcdRequests,
    private readonly send: Send<T>,
    private readonly timeout: number,
  ) {
    this.#until = this.#start + timeout;
  }

  async answer(): Promise<Answer<T>> {
    const { routes } = this.requests;
    const closed = this.requests.reasonOfClose();
    if (closed) throw closed;
    for (let failures = 0; ; failures += 1) {
      const route = routes.current;
      try {
        const reply = await this.#once(route);
        return { reply, start: this.#start, repeated: this.#sent > 1 };
      } catch (error) {
        const failure = failureOf(error);
        this.#unsure ||= failure.unsure;
        const renewable = isStaleLogin(error) && failures === 0;
        if (renewable) routes.renew(route);
        else routes.failed(route);
        if (failure.transient && !isDeadline(error)) this.#telling = error as Error;
        if (this.requests.reasonOfClose() || !(failure.transient || renewable) || this.#left() <= 0)
          throw this.#reported(error);
      }
      // Nobody is asked twice in a row without a pause.
      const pause = Math.min(FIRST_PAUSE * 2 ** Math.floor(failures / routes.count), LONGEST_PAUSE);
      if ((failures + 1) % routes.count === 0) await sleep(Math.min(pause, Math.max(1, this.#left())));
    }
  }

  #once(route: EtcdRoute): Promise<T> {
    const noAnswer = (): Error => new NoAnswerError(this.timeout);
    if (route.retries) {
      return bounded(() => this.send(route.client, this.#deadlines()), {
        timeout: this.#left() + GRACE,
        late: noAnswer,
        failure: same,
      });
    }
    // gRPC's own deadline would be a timer here and another one in etcd, at every call: what it does in the end is done here.
    let call: EtcdCall | undefined;
    let over = false;
    const started = (begun: EtcdCall): void => {
      call = begun;
      // It was held up by a login. It can be cancelled once it is under way.
      if (over) queueMicrotask(() => begun.cancel());
    };
    this.#sent += 1;
    return bounded(() => this.send(route.client, { started }), {
      timeout: this.#timeForOne(Math.min(TRIES, this.requests.routes.count)),
      late: () => {
        over = true;
        call?.cancel();
        return noAnswer();
      },
      failure: same,
    });
  }

  /** etcd3 reads the options anew whenever it tries again, which it does on another member: a deadline for each. */
  #deadlines(): EtcdCallOptions {
    const next = (): number => Date.now() + this.#timeForOne(TRIES);
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

  /** ms */
  #timeForOne(tries: number): number {
    return Math.max(1, Math.min(Math.max(SHORTEST_TRY, this.timeout / tries), this.#left()));
  }

  #left(): number {
    return this.#until - systemClock.now();
  }

  /** The last try may have had no time left: an earlier one says why. */
  #reported(last: unknown): unknown {
    const reason = isDeadline(last) ? (this.#telling ?? last) : last;
    const reported = this.requests.reasonOfClose() ?? unavailable(this.requests.routes.address, reason);
    if (this.#unsure) unsure.add(reported);
    return reported;
  }
}

const same = (error: unknown): unknown => error;
