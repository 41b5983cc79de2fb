import type { StoreHold } from '../../contract/index.js';

/** A lock that Redis has granted. */
export class RedisHold implements StoreHold {
  onLost?: ((cause: unknown) => void) | undefined;
  readonly #giveBack: (key: string, owner: string) => Promise<boolean>;

  constructor(
    readonly key: string,
    readonly owner: string,
    readonly fence: bigint,
    public validUntil: number,
    giveBack: (key: string, owner: string) => Promise<boolean>,
  ) {
    this.#giveBack = giveBack;
  }

  release(): Promise<boolean> {
    return this.#giveBack(this.key, this.owner);
  }
}
