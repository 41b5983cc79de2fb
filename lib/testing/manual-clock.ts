import type { Clock, Timer } from '../contract/index.js';

/** A clock that stands still until it is moved. */
export interface ManualClock extends Clock {
  /**
   * Moves on by `ms`, running the timers that come due on the way, each at its own time and in order. What a timer
   * starts (promises, further timers) settles before the next one runs.
   */
  advance(ms: number): Promise<void>;
  /** How many timers are set. */
  readonly timers: number;
}

interface Alarm {
  readonly at: number;
  readonly callback: () => void;
}

// Taken early, so that a test runner's fake timers do not stop a clock that stands in for them.
const nextTurn = globalThis.setImmediate;

/**
 * A clock for unit tests of code that holds locks: leases, waits and renewals run out when the test says so.
 *
 * @example
 * ```ts
 * const clock = manualClock();
 * const store = memoryStore({ clock });
 * await clock.advance(30_000); // leases of 30 s that nobody renewed have run out
 * ```
 */
export function manualClock(): ManualClock {
  let now = 0;
  // In the order in which they were set, so that those of one time run in that order.
  const alarms = new Set<Alarm>();

  const nextBefore = (end: number): Alarm | undefined => {
    let first: Alarm | undefined;
    for (const alarm of alarms) if (alarm.at <= end && (first === undefined || alarm.at < first.at)) first = alarm;
    return first;
  };

  return {
    now: () => now,
    after(delay, callback): Timer {
      const alarm = { at: now + Math.max(0, delay), callback };
      alarms.add(alarm);
      return { cancel: () => void alarms.delete(alarm) };
    },
    async advance(ms) {
      const end = now + ms;
      await settle();
      for (let alarm = nextBefore(end); alarm !== undefined; alarm = nextBefore(end)) {
        alarms.delete(alarm);
        now = Math.max(now, alarm.at);
        alarm.callback();
        await settle();
      }
      now = end;
    },
    get timers() {
      return alarms.size;
    },
  };
}

function settle(): Promise<void> {
  return new Promise((resolve) => void nextTurn(resolve));
}
