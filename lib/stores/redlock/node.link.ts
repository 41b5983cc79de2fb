import { systemClock, type Timer } from '../../contract/index.js';
import { LockUnavailableError } from '../../errors/index.js';
import type { RedisDriver } from '../redis/redis.driver.js';
import { isNoScript, unavailable } from '../redis/redis.errors.js';
import { Readiness } from '../redis/redis.readiness.js';
import type { RedisScript } from '../redis/scripts/script.js';
import { NodeFailure } from './node.failure.js';
import { identityScript } from './scripts/index.js';

export interface NodeRequest {
  readonly script: RedisScript;
  readonly keys: readonly string[];
  readonly args: readonly string[];
  /** ms, waiting for the connection included. */
  readonly timeout: number;
  /** Whether anybody still wants it by the time that it can be sent. Default: yes. */
  readonly wanted?: () => boolean;
}

const FIRST_PROBE = 100;
const LONGEST_PAUSE = 2_000;

const always = () => true;

/**
 * One node's connection: requests that are bounded in time, sent in the order in which they were asked for.
 *
 * A node that did not answer in time counts as silent. It is sent nothing more than a question now and then, so that
 * nothing piles up for it, and nobody waits for it, until it is heard again: a late answer will do.
 */
export class NodeLink {
  readonly #readiness: Readiness;
  #silent = false;
  #closed: NodeFailure | undefined;
  #probe: Timer | undefined;
  #pause = FIRST_PROBE;
  #unlisten: (() => void) | undefined;

  constructor(
    private readonly driver: RedisDriver,
    /** It can be reached again. */
    private readonly onBack: () => void,
  ) {
    this.#readiness = new Readiness(driver);
  }

  get address(): string {
    return this.driver.address;
  }

  /** Whether a request would be sent now and, as far as is known, answered. */
  get up(): boolean {
    return this.driver.ready && !this.#silent && this.#closed === undefined;
  }

  /** Waits until the client is connected. */
  async connect(timeout: number): Promise<void> {
    await this.#readiness.wait({ timeout, patient: true }).catch((error: unknown) => this.#fail(error, false));
  }

  async run(request: NodeRequest): Promise<unknown> {
    if (this.#closed) throw this.#closed;
    if (this.#silent) this.#fail(this.#error('is silent'), false);
    const { wanted = always } = request;
    let { timeout } = request;
    if (!this.driver.ready) {
      const start = systemClock.now();
      await this.#readiness.wait({ timeout }).catch((error: unknown) => this.#fail(error, false));
      timeout -= systemClock.now() - start;
      if (!wanted()) this.#fail(this.#error('was not needed any more'), false);
    }
    return this.#send(request, Math.max(1, timeout), wanted);
  }

  /** Has {@link onBack} called when the connection is there again. */
  follow(): void {
    this.#unlisten ??= this.driver.listen({
      ready: () => this.#back(),
      ended: () => undefined,
      failed: () => undefined,
    });
  }

  unfollow(): void {
    if (!this.#silent) this.#rest();
  }

  close(reason: Error): void {
    this.#closed ??= new NodeFailure(reason, false);
    this.#rest();
    this.#readiness.close(reason);
  }

  #send({ script, keys, args, timeout: bound }: NodeRequest, timeout: number, wanted: () => boolean): Promise<unknown> {
    return new Promise((resolve, reject) => {
      let over = false;
      let timer: Timer | undefined = undefined;
      const end = (): boolean => {
        if (over) return false;
        over = true;
        timer?.cancel();
        return true;
      };
      const succeed = (reply: unknown): void => {
        this.#heard();
        if (end()) resolve(reply);
      };
      const fail = (error: unknown): void => {
        if (end()) reject(new NodeFailure(unavailable(this.address, error, { script }), true));
      };
      timer = systemClock.after(timeout, () => {
        // A process that was blocked runs its timers before it reads: what has come in by now is heard first.
        setImmediate(() => {
          if (over) return;
          this.#fallSilent();
          fail(this.#error(`did not answer within ${Math.round(bound)} ms`));
        });
      });
      attempt(() => this.driver.evalsha(script.sha, keys, args)).then(succeed, (error: unknown) => {
        if (isNoScript(error)) this.#heard();
        // What was sent after it must not be overtaken by a second try that nobody waits for.
        if (!isNoScript(error) || over || !wanted()) fail(error);
        else attempt(() => this.driver.eval(script.source, keys, args)).then(succeed, fail);
      });
    });
  }

  #fallSilent(): void {
    if (this.#silent || this.#closed) return;
    this.#silent = true;
    this.follow();
    this.#probeLater();
  }

  /** A late answer need not come: the client may have given the request up as well. */
  #probeLater(): void {
    this.#probe = systemClock.after(this.#pause, () => {
      this.#probeLater();
      if (!this.driver.ready) return;
      attempt(() => this.driver.evalsha(identityScript.sha, [], [])).then(
        () => this.#heard(),
        (error: unknown) => isNoScript(error) && this.#heard(),
      );
    });
    this.#pause = Math.min(this.#pause * 2, LONGEST_PAUSE);
  }

  #heard(): void {
    if (this.#silent && !this.#closed) this.#back();
  }

  #back(): void {
    this.#rest();
    this.onBack();
  }

  #rest(): void {
    this.#silent = false;
    this.#pause = FIRST_PROBE;
    this.#probe?.cancel();
    this.#unlisten?.();
    this.#unlisten = undefined;
  }

  #error(problem: string): LockUnavailableError {
    return new LockUnavailableError(`redis at ${this.address} ${problem}`);
  }

  #fail(error: unknown, sent: boolean): never {
    throw new NodeFailure(unavailable(this.address, error), sent);
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
