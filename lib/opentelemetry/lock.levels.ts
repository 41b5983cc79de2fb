import type { HoldTrace, LockTracer, TracedLock, WaitTrace } from '../engine/lock.tracer.js';
import type { Describe } from './attributes.js';
import type { LockInstruments } from './lock.meter.js';

/**
 * Keeps the levels of held locks and waiting calls, and passes everything on to `inner`. From the calls instead of the
 * events: these have an end for every beginning, also for a wait that its caller ended.
 */
export function levelTracer(
  inner: LockTracer | undefined,
  instruments: LockInstruments,
  describe: Describe,
): LockTracer {
  const held = instruments.upDownCounter('distributed_lock.held');
  const waiters = instruments.upDownCounter('distributed_lock.waiters');

  const hold = (trace: HoldTrace | undefined, attributes: ReturnType<Describe>): HoldTrace => {
    held.add(1, attributes);
    return {
      run: (body) => (trace === undefined ? body() : trace.run(body)),
      lost: (reason) => trace?.lost(reason),
      ended: () => {
        held.add(-1, attributes);
        trace?.ended();
      },
    };
  };

  return {
    wait: (lock: TracedLock): WaitTrace => {
      const attributes = describe(lock);
      const trace = inner?.wait(lock);
      waiters.add(1, attributes);
      return {
        granted: (handedOff) => {
          waiters.add(-1, attributes);
          return hold(trace?.granted(handedOff), attributes);
        },
        refused: (reason) => {
          waiters.add(-1, attributes);
          trace?.refused(reason);
        },
      };
    },
  };
}
