import { randomBytes } from 'node:crypto';
import { systemClock } from '../../contract/index.js';
import { LockUnavailableError } from '../../errors/index.js';
import { Doorbell } from '../shared/doorbell.js';
import type { RedisSubscriber } from './redis.driver.js';
import { unavailable } from './redis.errors.js';

const OWNER_LENGTH = 32;

/** The wake-up messages of one process: each names the owner that a lock was reserved for, and the key. */
export class WakeUps {
  /** Where this process listens. Its entries in the queues carry it. */
  readonly channelId = randomBytes(16).toString('hex');
  readonly #bells = new Map<string, Doorbell>();

  constructor(
    private readonly subscriber: RedisSubscriber,
    /** Told of a reservation for an owner that does not wait here any more. */
    private readonly onUnclaimed: (key: string, owner: string) => void,
  ) {}

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

  /** Runs `wait` with a bell that is rung for `owner`. */
  async during<T>(owner: string, wait: (bell: Doorbell) => Promise<T>): Promise<T> {
    const bell = new Doorbell();
    this.#bells.set(owner, bell);
    try {
      return await wait(bell);
    } finally {
      if (this.#bells.get(owner) === bell) this.#bells.delete(owner);
    }
  }

  /** Ends every wait with `reason`. */
  close(reason: unknown): void {
    this.subscriber.destroy();
    for (const bell of this.#bells.values()) bell.break(reason);
  }

  #receive(message: string): void {
    const owner = message.slice(0, OWNER_LENGTH);
    const bell = this.#bells.get(owner);
    if (bell) bell.ring();
    else this.onUnclaimed(message.slice(OWNER_LENGTH + 1), owner);
  }
}
