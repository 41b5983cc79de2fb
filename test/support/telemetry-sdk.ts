import { context, metrics, trace, type Attributes } from '@opentelemetry/api';
import { AsyncLocalStorageContextManager } from '@opentelemetry/context-async-hooks';
import {
  AggregationTemporality,
  InMemoryMetricExporter,
  MeterProvider,
  PeriodicExportingMetricReader,
} from '@opentelemetry/sdk-metrics';
import {
  BasicTracerProvider,
  InMemorySpanExporter,
  SimpleSpanProcessor,
  type ReadableSpan,
} from '@opentelemetry/sdk-trace-base';

export interface Point {
  readonly name: string;
  readonly attributes: Attributes;
  /** Of a histogram: how many values. */
  readonly value: number;
  readonly sum?: number | undefined;
  readonly boundaries?: readonly number[] | undefined;
}

/** OpenTelemetry's own SDK, registered as an application registers it, with what it exports kept in memory. */
export class TelemetrySdk {
  readonly #spans = new InMemorySpanExporter();
  readonly #metrics = new InMemoryMetricExporter(AggregationTemporality.CUMULATIVE);
  readonly tracerProvider = new BasicTracerProvider({ spanProcessors: [new SimpleSpanProcessor(this.#spans)] });
  readonly meterProvider = new MeterProvider({
    readers: [new PeriodicExportingMetricReader({ exporter: this.#metrics, exportIntervalMillis: 3_600_000 })],
  });

  register(): void {
    context.setGlobalContextManager(new AsyncLocalStorageContextManager().enable());
    trace.setGlobalTracerProvider(this.tracerProvider);
    metrics.setGlobalMeterProvider(this.meterProvider);
  }

  async shutdown(): Promise<void> {
    for (const api of [context, trace, metrics]) api.disable();
    await Promise.all([this.tracerProvider.shutdown(), this.meterProvider.shutdown()]);
  }

  get spans(): readonly ReadableSpan[] {
    return this.#spans.getFinishedSpans();
  }

  span(name: string): ReadableSpan {
    const found = this.spans.filter((span) => span.name === name);
    if (found.length === 1) return found[0]!;
    throw new Error(
      `There are ${found.length} spans "${name}" among: ${this.spans.map((span) => span.name).join(', ')}`,
    );
  }

  /** The points of all metrics as they are now. */
  async points(): Promise<readonly Point[]> {
    this.#metrics.reset();
    await this.meterProvider.forceFlush();
    const [latest] = this.#metrics.getMetrics();
    return (latest?.scopeMetrics ?? []).flatMap((scope) =>
      scope.metrics.flatMap(({ descriptor: { name }, dataPoints }) =>
        dataPoints.map(({ attributes, value }): Point => {
          if (typeof value === 'number') return { name, attributes, value };
          const { count, sum } = value;
          const boundaries = 'buckets' in value ? value.buckets.boundaries : undefined;
          return { name, attributes, value: count, sum, boundaries };
        }),
      ),
    );
  }
}
