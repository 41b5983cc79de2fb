import { systemClock, type Timer } from '../../contract/index.js';
import type { RedisSubscriber } from '../redis/redis.driver.js';
import { Doorbell } from '../shared/doorbell.js';

/** How long a key's channels are kept after its last waiter, in ms: who waits for a busy key is soon back. */
const LINGER = 1_000;
/** How long the messages of the other nodes are waited for once a majority has sent theirs, in ms. */
const GRACE = 2;

/** Those of one process who wait for one key. */
class Topic {
  readonly bells = new Set<Doorbell>();
  linger: Timer | undefined;
  /** Whose vote each node has given back last. */
  #released: (string | undefined)[] = [];
  #grace: Timer | undefined;

  constructor(
    private readonly size: number,
    private readonly majority: number,
  ) {}

  hear(node: number, owner: string): void {
    this.#released[node] = owner;
    const count = this.#released.filter((released) => released === owner).length;
    if (count >= this.size) this.ring();
    // Votes at all nodes are worth a moment: a bare majority bears no further failure.
    else if (count === this.majority) this.#grace ??= systemClock.after(GRACE, () => this.ring());
  }

  ring(): void {
    this.end();
    this.#released = [];
    for (const bell of this.bells) bell.ring();
  }

  end(): void {
    this.#grace?.cancel();
    this.#grace = undefined;
  }
}

/**
 * Wakes those who wait for a key when a majority of its votes has been given back. Each node publishes that on the
 * key's own channel, so that nobody hears of keys that they do not wait for.
 */
export class WakeUps {
  readonly #topics = new Map<string, Topic>();

  constructor(
    private readonly subscribers: readonly RedisSubscriber[],
    private readonly majority: number,
    private readonly channelOf: (key: string) => string,
  ) {}

  /** Runs `wait` with a bell that is rung when it is worth while to try again. */
  async during<T>(key: string, wait: (bell: Doorbell) => Promise<T>): Promise<T> {
    const bell = new Doorbell();
    const topic = this.#topics.get(key) ?? this.#open(key);
    topic.linger?.cancel();
    topic.bells.add(bell);
    try {
      return await wait(bell);
    } finally {
      topic.bells.delete(bell);
      if (topic.bells.size === 0) topic.linger = systemClock.after(LINGER, () => this.#close(key, topic));
    }
  }

  /** Whether this process listens for the key itself. */
  listensFor(key: string): boolean {
    return this.#topics.has(key);
  }

  /** Ends every wait with `reason`. */
  close(reason: unknown): void {
    for (const topic of this.#topics.values()) {
      topic.end();
      topic.linger?.cancel();
      for (const bell of topic.bells) bell.break(reason);
    }
    this.#topics.clear();
  }

  #open(key: string): Topic {
    const topic = new Topic(this.subscribers.length, this.majority);
    this.#topics.set(key, topic);
    let confirmed = 0;
    this.subscribers.forEach((subscriber, node) => {
      // The subscription is renewed by itself when the node is back; the poll bridges the gap.
      subscriber
        .subscribe(this.channelOf(key), (owner) => topic.hear(node, owner))
        .then(
          () => {
            confirmed += 1;
            // It may have been given back before anybody listened.
            if (confirmed === this.majority) topic.ring();
          },
          () => undefined,
        );
    });
    return topic;
  }

  #close(key: string, topic: Topic): void {
    topic.end();
    if (topic.bells.size > 0 || this.#topics.get(key) !== topic) return;
    this.#topics.delete(key);
    for (const subscriber of this.subscribers) subscriber.unsubscribe(this.channelOf(key)).catch(() => undefined);
  }
}
