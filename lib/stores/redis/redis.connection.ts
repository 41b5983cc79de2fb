import { systemClock } from '../../contract/index.js';
import { LockUnavailableError } from '../../errors/index.js';
import { bounded } from '../shared/bounded.js';
import { closedError } from '../shared/store-state.js';
import type { RedisDriver, RedisNode } from './redis.driver.js';
import { isMoved, isNoScript, unavailable } from './redis.errors.js';
import { Readiness } from './redis.readiness.js';
import { Stragglers } from './stragglers.js';
import { identityOf, ReplicaConfirmations, type WaitReplicas } from './redis.replicas.js';
import type { RedisScript } from './scripts/index.js';

export interface Answer {
  /** When the request was sent, on the monotonic clock. */
  readonly start: number;
  readonly reply: unknown;
}

export interface RunOptions {
  /** Ends a wait for the connection. Its signal is asked for only then. */
  readonly abortable?: { readonly signal: AbortSignal } | undefined;
  /** Whether a reply tells of something that replicas have to confirm, where they are asked at all. */
  readonly confirms?: (reply: unknown) => boolean;
}

export interface ConnectionSettings {
  /** ms that one request may take, waiting for the connection included. */
  readonly commandTimeout: number;
  readonly waitReplicas?: WaitReplicas | undefined;
}

/**
 * Runs scripts on a client, each bounded in time, in the order in which they were sent.
 *
 * Clients queue commands without a bound while they are not connected, and some send them again after a reconnect. So
 * nothing is handed to a client that is not ready, and whatever comes back late is dropped.
 */
export class RedisConnection {
  readonly #readiness: Readiness;
  readonly #stragglers = new Stragglers();
  readonly #replicas: ReplicaConfirmations | undefined;
  #closed: LockUnavailableError | undefined;

  constructor(
    private readonly driver: RedisDriver,
    private readonly settings: ConnectionSettings,
  ) {
    this.#readiness = new Readiness(driver);
    const { waitReplicas } = settings;
    if (waitReplicas) this.#replicas = new ReplicaConfirmations(waitReplicas, () => driver.address);
  }

  get address(): string {
    return this.driver.address;
  }

  /** Why nothing can be sent now, or `undefined`. */
  get trouble(): LockUnavailableError | undefined {
    return this.driver.ready ? undefined : this.#readiness.trouble;
  }

  /** Waits until the client is connected. */
  async connect(timeout: number): Promise<void> {
    await this.#readiness.wait({ timeout, patient: true });
  }

  async run(
    script: RedisScript,
    keys: readonly string[],
    args: readonly string[],
    { abortable, confirms }: RunOptions = {},
  ): Promise<Answer> {
    if (this.#closed) throw this.#closed;
    let remaining = this.settings.commandTimeout;
    if (!this.driver.ready) {
      const start = systemClock.now();
      await this.#readiness.wait({ timeout: remaining, signal: abortable?.signal });
      remaining -= systemClock.now() - start;
    }
    if (this.#replicas && confirms)
      return this.#replicated(this.#replicas, { script, keys, args, remaining, confirms });
    const start = systemClock.now();
    return { start, reply: await this.#send(this.driver, script, keys, args, remaining) };
  }

  /** Any command that names no key, to the node that has `key`. */
  async command(key: string, ...args: readonly string[]): Promise<unknown> {
    const node = await this.#node(key, this.settings.commandTimeout);
    return this.#bounded(() => node.command(...args), this.settings.commandTimeout);
  }

  /**
   * Resolves when nothing that was sent for `key` and given up can be carried out any more: what is sent then comes after it.
   * Rejects when that takes too long.
   */
  async settled(key: string): Promise<void> {
    const stragglers = this.#stragglers.of(key);
    if (stragglers === undefined) return;
    await bounded(() => stragglers, {
      timeout: this.settings.commandTimeout,
      late: () =>
        new LockUnavailableError(`redis at ${this.driver.address}: an earlier request may be carried out still`),
      failure: (error) => error,
    });
  }

  /** Rejects what waits for the connection. Commands that were sent keep their bound. */
  close(): void {
    this.#closed ??= closedError('redis');
    this.#readiness.close(this.#closed);
  }

  /** The script and the question to the replicas go to one node, past a cluster's routes: WAIT asks about its own connection. */
  async #replicated(
    replicas: ReplicaConfirmations,
    call: {
      readonly script: RedisScript;
      readonly keys: readonly string[];
      readonly args: readonly string[];
      readonly remaining: number;
      readonly confirms: (reply: unknown) => boolean;
    },
  ): Promise<Answer> {
    const { script, keys, args, remaining, confirms } = call;
    const node = await this.#node(keys[0] ?? '', remaining);
    const before = this.#bounded(() => identityOf(node), remaining);
    before.catch(() => undefined);
    const start = systemClock.now();
    const reply = await this.#send(node, script, keys, args, remaining);
    if (confirms(reply)) {
      // Its own question may come after the one that is under way.
      const timeout = 2 * (this.settings.waitReplicas?.timeout ?? 0) + this.settings.commandTimeout;
      await this.#bounded(() => replicas.confirm(node, before), timeout);
    }
    return { start, reply };
  }

  #node(key: string, timeout: number): Promise<RedisNode> {
    return this.#bounded(() => this.driver.node(key), timeout);
  }

  #send(
    node: Pick<RedisNode, 'evalsha' | 'eval'>,
    script: RedisScript,
    keys: readonly string[],
    args: readonly string[],
    timeout: number,
  ): Promise<unknown> {
    const first = (): Promise<unknown> => node.evalsha(script.sha, keys, args);
    const second = (error: unknown): Promise<unknown> | undefined =>
      isNoScript(error) ? node.eval(script.source, keys, args) : undefined;
    return this.#bounded(first, timeout, { script, second, key: keys[0] });
  }

  #bounded<T>(
    call: () => Promise<T>,
    timeout: number,
    {
      script,
      second,
      key,
    }: { script?: RedisScript; second?: (error: unknown) => Promise<T> | undefined; key?: string | undefined } = {},
  ): Promise<T> {
    return bounded(call, {
      timeout,
      second,
      late: (call) => {
        if (key !== undefined && !this.driver.ordered) this.#stragglers.add(key, call);
        return new LockUnavailableError(
          `redis at ${this.driver.address} did not answer within ${this.settings.commandTimeout} ms`,
        );
      },
      failure: (error) => {
        const moved = this.driver.clustered && isMoved(error);
        if (moved && key !== undefined) this.driver.relocate?.(key);
        return unavailable(this.driver.address, error, { script, retryable: moved || undefined });
      },
    });
  }
}
