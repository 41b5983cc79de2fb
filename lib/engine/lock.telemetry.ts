import type { LockEventListener, LockEventName } from './lock.events.js';
import type { LockTracer } from './lock.tracer.js';

/** What watches the locks of an application: the `telemetry` option of the module, made by `openTelemetry()`. */
export interface LockTelemetry {
  /**
   * Called once, before the stores are opened. What it throws is a start-up error; what its listeners and its tracer
   * throw later is logged and breaks no lock.
   */
  attach(source: LockTelemetrySource): void | Promise<void>;
}

export interface LockTelemetrySource {
  readonly stores: readonly StoreName[];
  /** @returns a function that ends the subscription */
  on<E extends LockEventName>(event: E, listener: LockEventListener<E>): () => void;
  /** Follows every call from now on. */
  trace(tracer: LockTracer): void;
}

/** A store of the module. */
export interface StoreName {
  /** Its name in the module: `default`. */
  readonly name: string;
  /** What it is: `redis`, `postgres`. */
  readonly backend: string;
}
