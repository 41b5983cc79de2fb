import type { StoreHold } from '../../contract/index.js';

export class MemoryHold implements StoreHold {
  onLost?: (cause: unknown) => void;

  constructor(
    readonly key: string,
    readonly owner: string,
    readonly fence: bigint,
    public validUntil: number,
    private readonly giveBack: () => boolean,
  ) {}

  release(): Promise<boolean> {
    return Promise.resolve(this.giveBack());
  }
}
