import { systemClock, type Timer } from '../../../contract/index.js';
import { within } from './within.js';

const FIRST_PAUSE = 50;
const LONGEST_PAUSE = 2_000;
// A server that could not be asked for so long has noticed by itself, by TCP's own keep-alive at the latest.
const GIVE_UP = 10 * 60_000;

/** Sees to it that the server ends the sessions that have ended here: it may be a while before it notices by itself. */
export class Reaper {
  readonly #underWay = new Map<unknown, Promise<void>>();
  readonly #pauses = new Map<Timer, () => void>();
  #closed = false;

  constructor(private readonly terminate: (id: unknown) => Promise<void>) {}

  add(id: unknown): void {
    if (this.#underWay.has(id)) return;
    const reaped = this.#reap(id).finally(() => this.#underWay.delete(id));
    reaped.catch(() => undefined);
    this.#underWay.set(id, reaped);
  }

  /** Resolves when the server has ended that session. */
  async reaped(id: unknown): Promise<void> {
    await this.#underWay.get(id);
  }

  /** One last try for all that is left. */
  async close(timeout: number): Promise<void> {
    this.#closed = true;
    for (const [timer, wake] of this.#pauses) {
      timer.cancel();
      wake();
    }
    await within(Promise.allSettled(this.#underWay.values()), timeout, 'the end of a session').catch(() => undefined);
  }

  async #reap(id: unknown): Promise<void> {
    const start = performance.now();
    for (let pause = FIRST_PAUSE; ; pause = Math.min(2 * pause, LONGEST_PAUSE)) {
      const last = this.#closed || performance.now() - start > GIVE_UP;
      try {
        await this.terminate(id);
        return;
      } catch (error) {
        if (last) throw error;
      }
      await this.#sleep(pause);
    }
  }

  #sleep(duration: number): Promise<void> {
    return new Promise((resolve) => {
      const timer = systemClock.after(duration, () => {
        this.#pauses.delete(timer);
        resolve();
      });
      this.#pauses.set(timer, resolve);
    });
  }
}
