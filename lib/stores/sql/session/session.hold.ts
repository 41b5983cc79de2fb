import type { StoreHold } from '../../../contract/index.js';

/** A lock that lives as long as its session. */
export class SessionHold implements StoreHold {
  onLost?: (cause: unknown) => void;
  /** Until the session has ended or the key was given back. */
  live = true;
  validUntil = Infinity;

  constructor(
    readonly key: string,
    readonly owner: string,
    readonly label: string,
    readonly fence: bigint,
    private readonly giveBack: (hold: SessionHold) => Promise<boolean>,
  ) {}

  release(): Promise<boolean> {
    return this.giveBack(this);
  }

  /** The session has ended. */
  lose(cause: unknown): void {
    if (!this.live) return;
    this.live = false;
    this.validUntil = -Infinity;
    this.onLost?.(cause);
  }
}
