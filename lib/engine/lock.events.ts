import type { LockRequest } from './lock.request.js';

export interface LockEventAbout {
  readonly key: string;
  /** The name the store has in the module. */
  readonly store: string;
  /** What the key was made from (`order:<orderId>`): for statistics, which keys are too many and too private for. */
  readonly template: string | undefined;
}

/** What the engine tells. All times are ms. */
export interface LockEvents {
  /** `handedOff`: the lease was passed on within the process. */
  acquired: LockEventAbout & { readonly waited: number; readonly handedOff: boolean };
  /** A call gave up since somebody else held the key. */
  contended: LockEventAbout & { readonly waited: number; readonly holder: string | undefined };
  /** A call gave up since the store did not answer. */
  unavailable: LockEventAbout & { readonly waited: number; readonly cause: unknown };
  released: LockEventAbout & { readonly held: number };
  /** `atRelease`: the store said so when the lock was given back, and `released` has been told already. */
  lost: LockEventAbout & { readonly held: number; readonly error: Error; readonly atRelease: boolean };
  /**
   * A lease is passed on within the process, without asking the store: after its last holder's `released`, and just before the
   * `acquired` of the next, whose template this is. `handOffs`: how often that has happened to the lease.
   */
  handedOff: LockEventAbout & { readonly handOffs: number };
  /** A lease was renewed, by the watchdog or by `extend()`. `remaining`: what it has now. */
  renewed: LockEventAbout & { readonly remaining: number };
  /** A renewal got no answer; it is tried again until the lock's time runs out. */
  renewalFailed: LockEventAbout & { readonly remaining: number; readonly cause: unknown };
  /** A release got no answer; it is tried again in the background. */
  releaseFailed: LockEventAbout & { readonly cause: unknown };
  /** A store was opened, and is set up like that locks may be lost by it. */
  storeWarning: { readonly store: string; readonly warning: string };
}

/** What an event tells of the lock that it is about. */
export function about({ name }: { readonly name: string }, { key, template }: LockRequest): LockEventAbout {
  return { key, store: name, template };
}

export type LockEventName = keyof LockEvents;

export const LOCK_EVENT_NAMES: readonly LockEventName[] = [
  'acquired',
  'contended',
  'unavailable',
  'released',
  'lost',
  'handedOff',
  'renewed',
  'renewalFailed',
  'releaseFailed',
  'storeWarning',
];

export type LockEventListener<E extends LockEventName> = (event: LockEvents[E]) => void;

/** Typed events. A listener that throws never breaks a lock: its error is handed to `onError`. */
export class LockEventHub {
  readonly #listeners = new Map<LockEventName, Set<(event: never) => void>>();
  onError: ((error: unknown, event: LockEventName | 'tracer') => void) | undefined;

  /** @returns a function that ends the subscription */
  on<E extends LockEventName>(event: E, listener: LockEventListener<E>): () => void {
    const listeners = this.#listeners.get(event) ?? new Set();
    this.#listeners.set(event, listeners.add(listener));
    return () => listeners.delete(listener);
  }

  emit<E extends LockEventName>(name: E, event: LockEvents[E]): void {
    const listeners = this.#listeners.get(name) as Set<LockEventListener<E>> | undefined;
    if (listeners === undefined) return;
    for (const listener of listeners) {
      try {
        // An async listener has its own way of failing.
        const result = (listener as (event: LockEvents[E]) => unknown)(event);
        if (result instanceof Promise) result.catch((error: unknown) => this.onError?.(error, name));
      } catch (error) {
        this.onError?.(error, name);
      }
    }
  }
}
