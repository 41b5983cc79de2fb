import type { StoreHold } from '../../contract/index.js';

/** A lock that a majority has granted. */
export class RedlockHold implements StoreHold {
  readonly fence = undefined;
  onLost?: ((cause: unknown) => void) | undefined;

  constructor(
    readonly key: string,
    readonly owner: string,
    public validUntil: number,
    private readonly giveBack: () => Promise<boolean>,
  ) {}

  release(): Promise<boolean> {
    return this.giveBack();
  }
}
