import type { Attributes, Counter, Histogram, Meter, UpDownCounter } from '@opentelemetry/api';
import type { LockTelemetrySource } from '../engine/lock.telemetry.js';
import { ATTRIBUTE, type Describe } from './attributes.js';
import { LOCK_METRICS, type LockMetric, type LockMetricName } from './lock.metrics.js';

type NamesOf<K extends LockMetric['kind']> = {
  [N in LockMetricName]: (typeof LOCK_METRICS)[N]['kind'] extends K ? N : never;
}[LockMetricName];

/** The instruments, made from their descriptions so that what is documented is what is emitted. */
export class LockInstruments {
  constructor(private readonly meter: Meter) {}

  counter(name: NamesOf<'counter'>): Counter {
    const { unit, description } = LOCK_METRICS[name];
    return this.meter.createCounter(name, { unit, description });
  }

  upDownCounter(name: NamesOf<'up-down counter'>): UpDownCounter {
    const { unit, description } = LOCK_METRICS[name];
    return this.meter.createUpDownCounter(name, { unit, description });
  }

  histogram(name: NamesOf<'histogram'>): Histogram {
    const { unit, description, buckets } = LOCK_METRICS[name];
    return this.meter.createHistogram(name, {
      unit,
      description,
      advice: { explicitBucketBoundaries: [...buckets] },
    });
  }
}

/** Counts and measures what the events tell. */
export function meterEvents(source: LockTelemetrySource, instruments: LockInstruments, describe: Describe): void {
  const waits = instruments.histogram('distributed_lock.wait.duration');
  const holds = instruments.histogram('distributed_lock.hold.duration');
  const acquired = instruments.counter('distributed_lock.acquired');
  const contended = instruments.counter('distributed_lock.contended');
  const unavailable = instruments.counter('distributed_lock.unavailable');
  const lost = instruments.counter('distributed_lock.lost');
  const renewals = instruments.counter('distributed_lock.renewals');
  const renewalFailures = instruments.counter('distributed_lock.renewal_failures');
  const releaseFailures = instruments.counter('distributed_lock.release_failures');
  const ended = (attributes: Attributes, outcome: string): Attributes => ({
    ...attributes,
    [ATTRIBUTE.outcome]: outcome,
  });

  source.on('acquired', (event) => {
    const attributes = describe(event);
    acquired.add(1, { ...attributes, [ATTRIBUTE.handedOff]: event.handedOff });
    waits.record(event.waited / 1000, ended(attributes, 'acquired'));
  });
  source.on('contended', (event) => {
    const attributes = describe(event);
    contended.add(1, attributes);
    waits.record(event.waited / 1000, ended(attributes, 'contended'));
  });
  source.on('unavailable', (event) => {
    const attributes = describe(event);
    unavailable.add(1, attributes);
    waits.record(event.waited / 1000, ended(attributes, 'unavailable'));
  });
  source.on('released', (event) => holds.record(event.held / 1000, ended(describe(event), 'released')));
  source.on('lost', (event) => {
    const attributes = describe(event);
    lost.add(1, attributes);
    // One that the store found lost at its release has been measured as released.
    if (!event.atRelease) holds.record(event.held / 1000, ended(attributes, 'lost'));
  });
  source.on('renewed', (event) => renewals.add(1, describe(event)));
  source.on('renewalFailed', (event) => renewalFailures.add(1, describe(event)));
  source.on('releaseFailed', (event) => releaseFailures.add(1, describe(event)));
}
