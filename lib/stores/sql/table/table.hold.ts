import type { StoreHold } from '../../../contract/index.js';

export class TableHold implements StoreHold {
  onLost?: (cause: unknown) => void;

  constructor(
    readonly key: string,
    readonly owner: string,
    readonly fence: bigint,
    public validUntil: number,
    private readonly giveBack: () => Promise<boolean>,
  ) {}

  release(): Promise<boolean> {
    return this.giveBack();
  }
}
