interface Listeners {
  readonly callbacks: Set<() => void>;
  readonly listener: () => void;
}

const bySignal = new WeakMap<AbortSignal, Listeners>();

/**
 * Calls back when the signal aborts. However many wait with one signal, it has one listener: Node warns of a leak above ten.
 *
 * @returns a function that ends it, and takes the listener away with the last callback
 */
export function onAbort(signal: AbortSignal, callback: () => void): () => void {
  const { callbacks, listener } = bySignal.get(signal) ?? listen(signal);
  callbacks.add(callback);
  return () => {
    callbacks.delete(callback);
    if (callbacks.size > 0) return;
    signal.removeEventListener('abort', listener);
    bySignal.delete(signal);
  };
}

function listen(signal: AbortSignal): Listeners {
  const callbacks = new Set<() => void>();
  const listener = () => {
    for (const callback of [...callbacks]) callback();
  };
  const listeners = { callbacks, listener };
  signal.addEventListener('abort', listener, { once: true });
  bySignal.set(signal, listeners);
  return listeners;
}
