import type { StoreHold } from '../../../contract/index.js';
import type { LiveSession } from './live.session.js';

/** A lock that stands for as long as its session. */
export class EntryHold implements StoreHold {
  onLost?: ((cause: unknown) => void) | undefined;
  #lost = false;

  constructor(
    readonly key: string,
    readonly owner: string,
    readonly fence: bigint,
    readonly session: LiveSession,
    private readonly giveBack: (hold: EntryHold) => Promise<boolean>,
  ) {
    session.holds.add(this);
  }

  get validUntil(): number {
    return this.#lost ? -Infinity : this.session.validUntil;
  }

  release(): Promise<boolean> {
    return this.giveBack(this);
  }

  /** Its entry is gone, or its session. */
  lose(cause: unknown): void {
    if (this.#lost) return;
    this.#lost = true;
    this.session.holds.delete(this);
    this.onLost?.(cause);
  }
}
