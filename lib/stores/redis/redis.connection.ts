import { systemClock, type Timer } from '../../contract/index.js';
import { LockUnavailableError } from '../../errors/index.js';
import type { RedisDriver } from './redis.driver.js';
import { isNoScript, unavailable } from './redis.errors.js';
import { Readiness } from './redis.readiness.js';
import type { RedisScript } from './scripts/index.js';

export interface Answer {
  /** When the request was sent, on the monotonic clock. */
  readonly start: number;
  readonly reply: unknown;
}

/**
 * Runs scripts on a client, each bounded in time, in the order in which they were sent.
 *
 * Clients queue commands without a bound while they are not connected, and some send them again after a reconnect. So
 * nothing is handed to a client that is not ready, and whatever comes back late is dropped.
 */
export class RedisConnection {
  readonly #readiness: Readiness;
  #closed: LockUnavailableError | undefined;

  constructor(
    private readonly driver: RedisDriver,
    /** ms that one request may take, waiting for the connection included. */
    private readonly timeout: number,
  ) {
    this.#readiness = new Readiness(driver);
  }

  get address(): string {
    return this.driver.address;
  }

  /** Waits until the client is connected. */
  async connect(timeout: number): Promise<void> {
    await this.#readiness.wait({ timeout, patient: true });
  }

  async run(
    script: RedisScript,
    keys: readonly string[],
    args: readonly string[],
    /** Ends a wait for the connection. Its signal is asked for only then. */
    abortable?: { readonly signal: AbortSignal },
  ): Promise<Answer> {
    if (this.#closed) throw this.#closed;
    let remaining = this.timeout;
    if (!this.driver.ready) {
      const start = systemClock.now();
      await this.#readiness.wait({ timeout: remaining, signal: abortable?.signal });
      remaining -= systemClock.now() - start;
    }
    const start = systemClock.now();
    return { start, reply: await this.#send(script, keys, args, remaining) };
  }

  /** Rejects what waits for the connection. Commands that were sent keep their bound. */
  close(): void {
    this.#closed ??= new LockUnavailableError('the redis store is closed', { retryable: false });
    this.#readiness.close(this.#closed);
  }

  #send(script: RedisScript, keys: readonly string[], args: readonly string[], timeout: number): Promise<unknown> {
    return new Promise((resolve, reject) => {
      let settled = false;
      let timer: Timer | undefined = undefined;
      const settle = (): boolean => {
        if (settled) return false;
        settled = true;
        timer?.cancel();
        return true;
      };
      const succeed = (reply: unknown): void => {
        if (settle()) resolve(reply);
      };
      const fail = (error: unknown): void => {
        if (settle()) reject(unavailable(this.driver.address, error, script));
      };
      timer = systemClock.after(timeout, () => {
        // A process that was blocked runs its timers before it reads: what has come in by now is heard first.
        setImmediate(() => fail(this.#unanswered()));
      });
      attempt(() => this.driver.evalsha(script.sha, keys, args)).then(succeed, (error: unknown) => {
        // Given up already: what comes after it on this connection must not be overtaken by a second try.
        if (settled) return;
        if (isNoScript(error)) attempt(() => this.driver.eval(script.source, keys, args)).then(succeed, fail);
        else fail(error);
      });
    });
  }

  #unanswered(): LockUnavailableError {
    return new LockUnavailableError(`redis at ${this.driver.address} did not answer within ${this.timeout} ms`);
  }
}

/** A client that refuses at once throws where another rejects. */
function attempt(call: () => Promise<unknown>): Promise<unknown> {
  try {
    return call();
  } catch (error) {
    return Promise.reject(error);
  }
}
