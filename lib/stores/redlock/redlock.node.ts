import { systemClock } from '../../contract/index.js';
import { LockUnavailableError } from '../../errors/index.js';
import type { RedisDriver, RedisSubscriber } from '../redis/redis.driver.js';
import { NodeDebts } from './node.debts.js';
import { NodeFailure } from './node.failure.js';
import { NodeLink } from './node.link.js';
import type { RedlockNames } from './redlock.names.js';
import { lookReply, voteReply, type SeenVote, type VoteReply } from './redlock.replies.js';
import { clearScript, lookScript, renewScript, voteScript, withdrawScript } from './scripts/index.js';

export interface VoteCall {
  readonly key: string;
  readonly owner: string;
  readonly round: number;
  readonly label: string;
  /** ms. */
  readonly ttl: number;
}

export interface RenewCall {
  readonly key: string;
  readonly owner: string;
  /** ms. */
  readonly ttl: number;
}

export interface Withdrawal {
  /** Whether the owner had the vote. */
  readonly had: boolean;
  /** How many processes listen for it, this one included. */
  readonly told: number;
}

export interface NodeSettings {
  readonly names: RedlockNames;
  /** ms that one request may take. */
  readonly nodeTimeout: number;
  /** Makes sure that this is a server of its own, with all that is needed. Rejects otherwise. */
  readonly check: (node: RedlockNode, timeout: number) => Promise<void>;
}

/** ms. */
const BETWEEN_CHECKS = 500;

/** One of the independent servers: what it can be asked for, and what it has still to be told. */
export class RedlockNode {
  readonly link: NodeLink;
  readonly subscriber: RedisSubscriber;
  readonly #debts: NodeDebts;
  #checked = false;
  #lookedAt = -Infinity;
  #problem: Error | undefined;

  constructor(
    private readonly driver: RedisDriver,
    private readonly settings: NodeSettings,
  ) {
    this.link = new NodeLink(driver, () => void this.#debts.settle());
    this.subscriber = driver.subscriber();
    this.#debts = new NodeDebts(
      ({ key, owner, round }) => this.#withdraw(key, owner, round),
      () => this.link.unfollow(),
    );
  }

  get address(): string {
    return this.link.address;
  }

  /** Whether an answer can be expected. */
  get up(): boolean {
    return this.#checked && this.link.up;
  }

  /** Waits for the connection, and for what has to be so before it votes. */
  async start(timeout: number): Promise<void> {
    const deadline = systemClock.now() + timeout;
    await this.link.connect(timeout);
    await this.#check(Math.max(1, deadline - systemClock.now()));
  }

  /** @param timeout ms @param wanted whether anybody still wants the vote once it can be asked for */
  async vote(call: VoteCall, timeout: number, wanted: () => boolean): Promise<VoteReply> {
    this.#mustBeChecked();
    const { key, owner, round, label, ttl } = call;
    const { names } = this.settings;
    const args = [owner, String(round), names.value(owner, round, label), whole(ttl)];
    return voteReply(await this.link.run({ script: voteScript, keys: [names.lock(key)], args, timeout, wanted }));
  }

  /** Takes an owner's vote back; sees to it later if the node cannot be told now. */
  async withdraw(key: string, owner: string, round: number): Promise<Withdrawal> {
    try {
      this.#mustBeChecked();
      return await this.#withdraw(key, owner, round);
    } catch (error) {
      this.owe(key, owner, round);
      throw error;
    }
  }

  /** Has a vote withdrawn as soon as the node can be told. */
  owe(key: string, owner: string, round: number): void {
    this.#debts.add({ key, owner, round });
    this.link.follow();
  }

  /** For each vote whether it was extended. */
  async renew(calls: readonly RenewCall[]): Promise<boolean[]> {
    this.#mustBeChecked();
    const keys = calls.map(({ key }) => this.settings.names.lock(key));
    const args = calls.flatMap(({ owner, ttl }) => [owner, whole(ttl)]);
    const outcomes = (await this.#run(renewScript, keys, args)) as unknown[];
    return outcomes.map((outcome) => Number(outcome) === 1);
  }

  async look(key: string): Promise<SeenVote | undefined> {
    this.#mustBeChecked();
    return lookReply(await this.#run(lookScript, [this.settings.names.lock(key)], []));
  }

  /** Whether anybody had the vote. */
  async clear(key: string): Promise<boolean> {
    this.#mustBeChecked();
    const { names } = this.settings;
    return Number(await this.#run(clearScript, [names.lock(key)], [names.channel(key)])) === 1;
  }

  close(reason: LockUnavailableError): void {
    this.#debts.close();
    this.link.close(reason);
    this.subscriber.destroy();
  }

  /** Ends the connection. Called only where it is ours. */
  async disconnect(timeout: number): Promise<void> {
    if (this.driver.ready) {
      await new Promise<void>((resolve) => {
        const timer = systemClock.after(timeout, resolve);
        const done = (): void => {
          timer.cancel();
          resolve();
        };
        this.driver.quit().then(done, done);
      });
    }
    if (!this.driver.ended) this.driver.destroy();
  }

  async #check(timeout: number): Promise<void> {
    this.#lookedAt = systemClock.now();
    try {
      await this.settings.check(this, timeout);
      this.#checked = true;
    } catch (error) {
      this.#problem = error instanceof NodeFailure ? error.cause : (error as Error);
      throw error;
    }
  }

  /** A node that could not be reached at the start is looked at as soon as somebody needs it. */
  #mustBeChecked(): void {
    if (this.#checked) return;
    if (systemClock.now() > this.#lookedAt + BETWEEN_CHECKS) {
      this.#check(this.settings.nodeTimeout).catch(() => undefined);
    }
    throw new NodeFailure(
      this.#problem ?? new LockUnavailableError(`redis at ${this.address} was not reached yet`),
      false,
    );
  }

  async #withdraw(key: string, owner: string, round: number): Promise<Withdrawal> {
    const { names } = this.settings;
    const args = [owner, String(round), names.channel(key)];
    const reply = Number(await this.#run(withdrawScript, [names.lock(key)], args));
    return { had: reply > 0, told: Math.max(0, reply - 1) };
  }

  #run(script: typeof voteScript, keys: readonly string[], args: readonly string[]): Promise<unknown> {
    return this.link.run({ script, keys, args, timeout: this.settings.nodeTimeout });
  }
}

/** Redis takes whole milliseconds only. */
function whole(ms: number): string {
  return String(Math.ceil(ms));
}
