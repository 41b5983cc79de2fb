import { systemClock } from '../../contract/index.js';

/** What a process leaves to those it has told, at least, in ms: the way of a message, and a round of votes. */
const SHORTEST = 5;

/**
 * Lets other processes go first after a release.
 *
 * Whoever gives a key back and asks for it again would always be ahead of those who have yet to hear of it, and a busy
 * process would keep the key to itself.
 */
export class Turns {
  readonly #others = new Map<string, Promise<void>>();

  /** @param released resolves with how many other processes were told */
  giveWay(key: string, released: Promise<number>): void {
    const start = systemClock.now();
    const turn = released
      .then(
        (told) => (told > 0 ? pause(SHORTEST + 2 * (systemClock.now() - start)) : undefined),
        () => undefined,
      )
      .finally(() => {
        if (this.#others.get(key) === turn) this.#others.delete(key);
      });
    this.#others.set(key, turn);
  }

  /** Resolves when it is this process's turn to ask for the key. */
  async own(key: string): Promise<void> {
    await this.#others.get(key);
  }
}

export function pause(ms: number): Promise<void> {
  return new Promise((resolve) => void systemClock.after(ms, resolve));
}
