import { randomBytes } from 'node:crypto';
import { systemClock } from '../../contract/index.js';
import { LockUnavailableError } from '../../errors/index.js';
import { Doorbell } from '../shared/doorbell.js';
import type { RedisSubscriber } from './redis.driver.js';
import { unavailable } from './redis.errors.js';

const OWNER_LENGTH = 32;

interface Wait {
  readonly bell: Doorbell;
  readonly onTrouble: () => void;
}

/** The wake-up messages of one process: each names the owner that a lock was reserved for, and the key. */
export class WakeUps {
  /** Where this process listens. Its entries in the queues carry it. */
  readonly channelId = randomBytes(16).toString('hex');
  readonly #waits = new Map<string, Wait>();

  constructor(
    private readonly subscriber: RedisSubscriber,
    /** Told of a reservation for an owner that does not wait here any more. */
    private readonly onUnclaimed: (key: string, owner: string) => void,
  ) {
    // Whoever waits looks at once: a server that has gone must not be taken for a lock that is held.
    subscriber.onTrouble = () => {
      for (const { bell, onTrouble } of this.#waits.values()) {
        onTrouble();
        bell.ring();
      }
    };
  }

  async subscribe(prefix: string, timeout: number, address: string): Promise<void> {
    const channel = prefix + this.channelId;
    await new Promise<void>((resolve, reject) => {
      const timer = systemClock.after(timeout, () =>
        reject(new LockUnavailableError(`redis at ${address} did not confirm a subscription within ${timeout} ms`)),
      );
      this.subscriber
        .subscribe(channel, (message) => this.#receive(message))
        .then(resolve, (error: unknown) => reject(unavailable(address, error)))
        .finally(() => timer.cancel());
    });
  }

  /**
   * Runs `wait` with a bell that is rung for `owner`.
   *
   * @param onTrouble called when the connection for messages fails, and whenever it cannot be made anew
   */
  async during<T>(owner: string, wait: (bell: Doorbell) => Promise<T>, onTrouble = (): void => undefined): Promise<T> {
    const bell = new Doorbell();
    this.#waits.set(owner, { bell, onTrouble });
    try {
      return await wait(bell);
    } finally {
      if (this.#waits.get(owner)?.bell === bell) this.#waits.delete(owner);
    }
  }

  /** Ends every wait with `reason`. */
  close(reason: unknown): void {
    this.subscriber.destroy();
    for (const { bell } of this.#waits.values()) bell.break(reason);
  }

  #receive(message: string): void {
    const owner = message.slice(0, OWNER_LENGTH);
    const wait = this.#waits.get(owner);
    if (wait) wait.bell.ring();
    else this.onUnclaimed(message.slice(OWNER_LENGTH + 1), owner);
  }
}
