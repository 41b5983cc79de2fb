import { leaseDeadline, type StoreHold } from '../../contract/index.js';

/** A lock that a lease store has granted. */
export class LeaseHold implements StoreHold {
  onLost?: ((cause: unknown) => void) | undefined;

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

/** Moves the end of a hold whose renewal was sent at `start` and granted. */
export function extend(hold: StoreHold, start: number, ttl: number): void {
  if (hold instanceof LeaseHold) hold.validUntil = leaseDeadline(start, ttl);
}
