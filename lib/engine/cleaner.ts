import type { Clock, Timer } from '../contract/index.js';
import type { Backend } from './backend.js';

const FIRST_PAUSE = 50;
const LONGEST_PAUSE = 2_000;

interface Task {
  readonly backend: Backend;
  readonly key: string;
  readonly owner: string;
  readonly until: number;
  pause: number;
  timer?: Timer | undefined;
}

/**
 * Sees to acquisitions whose outcome nobody knows and to releases that got no answer: asks the store to abandon the
 * owner until it says yes, or until the lease has run out by itself. A session does not as long as its process lives.
 */
export class Cleaner {
  readonly #tasks = new Set<Task>();
  #closed = false;

  constructor(private readonly clock: Clock) {}

  /** @param ttl how long the store may keep the key when it is never reached, in ms */
  abandon(backend: Backend, key: string, owner: string, ttl: number): void {
    if (this.#closed) return;
    const until = backend.store.guarantees.expiry === 'session' ? Infinity : this.clock.now() + 2 * ttl;
    const task: Task = { backend, key, owner, until, pause: FIRST_PAUSE };
    this.#tasks.add(task);
    void this.#try(task);
  }

  /** One last try for everything that is left. */
  async close(): Promise<void> {
    this.#closed = true;
    const tasks = [...this.#tasks];
    this.#tasks.clear();
    await Promise.all(
      tasks.map(({ backend, key, owner, timer }) => {
        timer?.cancel();
        return backend.store.abandon(key, owner).catch(() => undefined);
      }),
    );
  }

  async #try(task: Task): Promise<void> {
    try {
      await task.backend.store.abandon(task.key, task.owner);
      this.#tasks.delete(task);
    } catch {
      if (this.clock.now() + task.pause >= task.until) this.#tasks.delete(task);
      if (!this.#tasks.has(task)) return;
      task.timer = this.clock.after(task.pause, () => void this.#try(task));
      task.pause = Math.min(task.pause * 2, LONGEST_PAUSE);
    }
  }
}
