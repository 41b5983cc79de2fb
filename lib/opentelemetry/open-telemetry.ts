import type { Meter, Tracer } from '@opentelemetry/api';
import type { LockTelemetry, LockTelemetrySource } from '../engine/lock.telemetry.js';
import type { LockTracer } from '../engine/lock.tracer.js';
import { refuseUnknown } from '../options/known-options.js';
import { loadApi } from './api.js';
import { describeLocks } from './attributes.js';
import { levelTracer } from './lock.levels.js';
import { LockInstruments, meterEvents } from './lock.meter.js';
import { LockSpans } from './lock.spans.js';

/** Providers are accepted by their shape, so that these types need no package of OpenTelemetry's. */
export interface OpenTelemetryOptions {
  /** Whether waits and holds become spans. Default `true`. */
  readonly spans?: boolean;
  /** Whether metrics are made. Default `true`. */
  readonly metrics?: boolean;
  /** Where spans go. Default: the provider that is registered globally. */
  readonly tracerProvider?: { getTracer(name: string): unknown };
  /** Where metrics go. Default: the provider that is registered globally when the application starts. */
  readonly meterProvider?: { getMeter(name: string): unknown };
}

const SCOPE = 'nestjs-distributed-lock';
const OPTION_NAMES = ['spans', 'metrics', 'tracerProvider', 'meterProvider'];

/**
 * Metrics and spans of all locks, for `LockModule.forRoot({ telemetry: openTelemetry() })`. They never show a key, but what
 * it was made from: `order:<orderId>`. Start the SDK before the application: metrics go to the provider that is registered then.
 *
 * @throws LockOptionsError for an unknown option; at start, when `@opentelemetry/api` is not installed
 */
export function openTelemetry(options: OpenTelemetryOptions = {}): LockTelemetry {
  refuseUnknown(options, 'openTelemetry()', OPTION_NAMES);
  const { spans = true, metrics = true, tracerProvider, meterProvider } = options;
  return {
    attach: async (source: LockTelemetrySource) => {
      const api = await loadApi();
      const describe = describeLocks(source);
      let tracer: LockTracer | undefined;
      if (spans) {
        tracer = new LockSpans(api, (tracerProvider ?? api.trace).getTracer(SCOPE) as Tracer, describe);
      }
      if (metrics) {
        const instruments = new LockInstruments((meterProvider ?? api.metrics).getMeter(SCOPE) as Meter);
        meterEvents(source, instruments, describe);
        tracer = levelTracer(tracer, instruments, describe);
      }
      if (tracer !== undefined) source.trace(tracer);
    },
  };
}
