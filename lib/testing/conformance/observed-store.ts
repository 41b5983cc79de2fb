import type {
  AcquireRequest,
  AcquireResult,
  LockStore,
  RenewOutcome,
  RenewRequest,
  StoreInspection,
} from '../../contract/index.js';

type Renew = (requests: readonly RenewRequest[]) => Promise<RenewOutcome[]>;

/** A store that counts what it is asked, and lets a test step in. */
export class ObservedStore implements LockStore {
  readonly name: string;
  readonly guarantees: LockStore['guarantees'];
  readonly modes: LockStore['modes'];
  readonly acquired: string[] = [];
  renewals = 0;
  /** Stands before the store's own renewal. */
  onRenew: ((requests: readonly RenewRequest[], renew: Renew) => Promise<RenewOutcome[]>) | undefined;
  readonly renew?: Renew;

  constructor(private readonly store: LockStore) {
    this.name = store.name;
    this.guarantees = store.guarantees;
    this.modes = store.modes;
    const renew = store.renew?.bind(store);
    if (renew === undefined) return;
    this.renew = (requests) => {
      this.renewals += requests.length;
      return this.onRenew === undefined ? renew(requests) : this.onRenew(requests, renew);
    };
  }

  open(): Promise<void> {
    return this.store.open();
  }

  acquire(request: AcquireRequest): Promise<AcquireResult> {
    this.acquired.push(request.key);
    return this.store.acquire(request);
  }

  abandon(key: string, owner: string): Promise<void> {
    return this.store.abandon(key, owner);
  }

  inspect(key: string): Promise<StoreInspection | undefined> {
    return this.store.inspect(key);
  }

  forceRelease(key: string): Promise<boolean> {
    return this.store.forceRelease(key);
  }

  close(): Promise<void> {
    return this.store.close();
  }
}
