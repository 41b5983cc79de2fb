import type {
  AcquireRequest,
  AcquireResult,
  LockStore,
  RenewOutcome,
  RenewRequest,
  StoreGuarantees,
  StoreHold,
  StoreInspection,
} from '../contract/index.js';
import type { MemoryStore } from '../stores/memory/memory.store.js';
import type { Outage } from './outage.js';

/** Who is told what code under test does at its store. */
export interface StoreObserver {
  /** Somebody has asked for a key that is taken. */
  onRefused(key: string): void;
  onGranted(hold: StoreHold, label: string): void;
}

/**
 * What an application under test sees of the memory store: a server that may be out of reach. Closing it ends nothing,
 * since others may use the same one; an engine gives its locks back before.
 */
export class TestStore implements LockStore {
  readonly name;
  readonly modes;

  constructor(
    private readonly memory: MemoryStore,
    private readonly outage: Outage,
    private readonly observer: StoreObserver,
    readonly guarantees: StoreGuarantees,
  ) {
    this.name = memory.name;
    this.modes = memory.modes;
  }

  open(): Promise<void> {
    return this.outage.pass(() => this.memory.open());
  }

  acquire(request: AcquireRequest): Promise<AcquireResult> {
    return this.outage.pass(async () => {
      const { key, owner, label, mode, ttl, wait } = request;
      const holder = this.memory.look(key)?.owner;
      const answer = this.memory.acquire({
        ...{ key, owner, label, mode, ttl, wait },
        // A request that is not to wait is answered before anything can happen to the line.
        signal: wait ? AbortSignal.any([request.signal, this.outage.signal]) : request.signal,
        onStatus: (status) => request.onStatus(status),
      });
      if (holder !== undefined && holder !== owner) this.observer.onRefused(key);
      const result = await answer;
      if (result.acquired) this.observer.onGranted(result.hold, label);
      return withOutage(result, this.outage);
    });
  }

  abandon(key: string, owner: string): Promise<void> {
    return this.outage.pass(() => this.memory.abandon(key, owner));
  }

  renew(requests: readonly RenewRequest[]): Promise<RenewOutcome[]> {
    return this.outage.pass(() => this.memory.renew(requests));
  }

  inspect(key: string): Promise<StoreInspection | undefined> {
    return this.outage.pass(() => this.memory.inspect(key));
  }

  forceRelease(key: string): Promise<boolean> {
    return this.outage.pass(() => this.memory.forceRelease(key));
  }

  close(): Promise<void> {
    return Promise.resolve();
  }
}

/** A release goes over the same line as everything else. */
function withOutage(result: AcquireResult, outage: Outage): AcquireResult {
  if (!result.acquired) return result;
  const { hold } = result;
  const release = hold.release.bind(hold);
  hold.release = () => outage.pass(release);
  return result;
}
