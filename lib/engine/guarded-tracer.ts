import type { HoldTrace, LockTracer, TracedLock, WaitTrace } from './lock.tracer.js';

type OnError = (error: unknown) => void;

/** A tracer that never breaks a lock: whatever the given one throws is handed to `onError`. */
export function guardedTracer(tracer: LockTracer, onError: OnError): LockTracer {
  return {
    wait: (lock: TracedLock) =>
      guardWait(
        attempt(() => tracer.wait(lock), onError),
        onError,
      ),
  };
}

function guardWait(trace: WaitTrace | undefined, onError: OnError): WaitTrace {
  return {
    granted: (handedOff) =>
      guardHold(
        attempt(() => trace?.granted(handedOff), onError),
        onError,
      ),
    refused: (reason) => attempt(() => trace?.refused(reason), onError),
  };
}

function guardHold(trace: HoldTrace | undefined, onError: OnError): HoldTrace {
  return {
    run: (body) => runOnce(trace, body, onError),
    lost: (reason) => attempt(() => trace?.lost(reason), onError),
    ended: () => attempt(() => trace?.ended(), onError),
  };
}

/** The body runs exactly once, and its own result or error comes out. */
function runOnce<T>(trace: HoldTrace | undefined, body: () => T, onError: OnError): T {
  if (trace === undefined) return body();
  const outcomes: Outcome<T>[] = [];
  const run = () => {
    if (outcomes.length === 0) outcomes.push(settle(body));
  };
  attempt(() => trace.run(run), onError);
  run();
  const [outcome] = outcomes as [Outcome<T>];
  if ('error' in outcome) throw outcome.error;
  return outcome.value;
}

type Outcome<T> = { readonly value: T } | { readonly error: unknown };

function settle<T>(body: () => T): Outcome<T> {
  try {
    return { value: body() };
  } catch (error) {
    return { error };
  }
}

function attempt<T>(action: () => T, onError: OnError): T | undefined {
  try {
    return action();
  } catch (error) {
    onError(error);
    return undefined;
  }
}
