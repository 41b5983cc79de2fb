import { systemClock, type Timer } from '../../contract/index.js';
import { LockUnavailableError } from '../../errors/index.js';
import type { RedisDriver } from '../redis/redis.driver.js';
import { isNoScript, unavailable } from '../redis/redis.errors.js';
import { Readiness } from '../redis/redis.readiness.js';
import type { RedisScript } from '../redis/scripts/script.js';
import { attempt, bounded } from '../shared/bounded.js';
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
    const failure = (error: unknown) => new NodeFailure(unavailable(this.address, error, { script }), true);
    return bounded(() => this.#hearing(this.driver.evalsha(script.sha, keys, args)), {
      timeout,
      second: (error) =>
        isNoScript(error) && wanted() ? this.#hearing(this.driver.eval(script.source, keys, args)) : undefined,
      late: () => {
        this.#fallSilent();
        return failure(this.#error(`did not answer within ${Math.round(bound)} ms`));
      },
      failure,
    });
  }

  /** Whatever comes from the server, however late, says that it is there; a client's own errors do not. */
  #hearing(call: Promise<unknown>): Promise<unknown> {
    return call.then(
      (reply) => {
        this.#heard();
        return reply;
      },
      (error: unknown) => {
        if (isNoScript(error)) this.#heard();
        throw error;
      },
    );
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
      attempt(() => this.#hearing(this.driver.evalsha(identityScript.sha, [], []))).catch(() => undefined);
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
