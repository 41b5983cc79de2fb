import type { AcquireRequest, AcquireResult, LockStore } from '../../lib/contract/index.js';

/** One process's view of a store that several share: closing it ends its own waits and leaves the store open. */
export function memoryProcess(store: LockStore): LockStore {
  const closing = new AbortController();

  async function acquire(request: AcquireRequest): Promise<AcquireResult> {
    closing.signal.throwIfAborted();
    return store.acquire({
      ...request,
      onStatus: (status) => request.onStatus(status),
      signal: AbortSignal.any([request.signal, closing.signal]),
    });
  }

  return {
    name: store.name,
    guarantees: store.guarantees,
    modes: store.modes,
    acquire,
    open: () => store.open(),
    abandon: (key, owner) => store.abandon(key, owner),
    renew: (requests) => store.renew!(requests),
    inspect: (key) => store.inspect(key),
    forceRelease: (key) => store.forceRelease(key),
    close: async () => closing.abort(new Error('this process has closed its store')),
  };
}
