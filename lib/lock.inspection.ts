import type { Backend } from './engine/backend.js';
import { fencingToken } from './engine/fencing-token.js';
import type { LockEngine } from './engine/lock.engine.js';

/** A key that is held, as its store sees it. Times are ms. */
export interface LockInspection {
  readonly key: string;
  /** The name the store has in the module. */
  readonly store: string;
  /** The label of the holding process: host name and process id unless configured. */
  readonly holder: string | undefined;
  /** Since when it is held. */
  readonly age: number | undefined;
  /** Until the lease ends unless it is renewed. */
  readonly remaining: number | undefined;
  /** How many processes queue for it in the store. */
  readonly waiters: number | undefined;
  /** How many callers of this process queue for it. */
  readonly localWaiters: number;
  /** The fencing token of its hold, less what hand-offs within the holding process have added to it. */
  readonly fencingToken: bigint | undefined;
}

export async function inspect(engine: LockEngine, backend: Backend, key: string): Promise<LockInspection | undefined> {
  const found = await engine.inspect(backend, key);
  return (
    found && {
      key,
      store: backend.name,
      holder: found.label,
      age: found.age,
      remaining: found.remaining,
      waiters: found.waiters,
      localWaiters: engine.localWaiters(backend, key),
      fencingToken: found.fence === undefined ? undefined : fencingToken(found.fence, 0),
    }
  );
}
