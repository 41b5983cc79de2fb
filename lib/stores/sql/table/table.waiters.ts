import { Doorbell } from '../../shared/doorbell.js';

/** How the waiting processes of a table learn that their turn has come. */
export interface TablePush {
  /** Whether releases are announced at present: waiters may then look rarely. */
  readonly live: boolean;
  /** Somebody waits here: begin to listen. Never throws. */
  start(ring: (owner: string) => void): void;
  close(): Promise<void>;
}

/** The waits of one process, by their owner. */
export class TableWaiters {
  readonly #bells = new Map<string, Doorbell>();

  constructor(private readonly push: TablePush | undefined) {}

  /** Whether somebody rings when a turn has come. */
  get rung(): boolean {
    return this.push?.live ?? false;
  }

  /** Runs `wait` with a bell that is rung for `owner`. */
  async during<T>(owner: string, wait: (bell: Doorbell) => Promise<T>): Promise<T> {
    const bell = new Doorbell();
    this.#bells.set(owner, bell);
    this.push?.start((woken) => this.#bells.get(woken)?.ring());
    try {
      return await wait(bell);
    } finally {
      if (this.#bells.get(owner) === bell) this.#bells.delete(owner);
    }
  }

  /** Ends every wait with `reason`. */
  async close(reason: unknown): Promise<void> {
    for (const bell of this.#bells.values()) bell.break(reason);
    await this.push?.close();
  }
}
