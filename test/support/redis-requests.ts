import { randomBytes } from 'node:crypto';
import type { AcquireRequest, LockStore, QueueStatus, StoreHold } from '../../lib/contract/index.js';

export function newOwner(): string {
  return randomBytes(16).toString('hex');
}

export interface TestRequest extends AcquireRequest {
  readonly statuses: QueueStatus[];
}

/** What the engine would ask for. */
export function request(key: string, changes: Partial<AcquireRequest> = {}): TestRequest {
  const statuses: QueueStatus[] = [];
  return {
    key,
    owner: newOwner(),
    label: 'host:1',
    mode: { kind: 'exclusive' },
    ttl: 10_000,
    wait: false,
    signal: new AbortController().signal,
    onStatus: (status) => statuses.push(status),
    ...changes,
    statuses,
  };
}

/** Takes the key or fails. */
export async function take(store: LockStore, key: string, changes: Partial<AcquireRequest> = {}): Promise<StoreHold> {
  const result = await store.acquire(request(key, changes));
  if (!result.acquired) throw new Error(`"${key}" is held by ${result.holder?.label ?? 'somebody'}`);
  return result.hold;
}

/** Waits until `condition` holds. */
export async function until(condition: () => boolean | Promise<boolean>, timeout = 5_000): Promise<void> {
  const deadline = performance.now() + timeout;
  while (!(await condition())) {
    if (performance.now() > deadline) throw new Error(`not within ${timeout} ms: ${condition.toString()}`);
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
}
