import type { Attributes, Context, Span, Tracer } from '@opentelemetry/api';
import type { HoldTrace, LockTracer, TracedLock, WaitTrace } from '../engine/lock.tracer.js';
import type { OpenTelemetryApi } from './api.js';
import { ATTRIBUTE, type Describe } from './attributes.js';
import { failureOf } from './failure.js';

/** Makes one span of a call's wait and one of its hold, both children of the span that was active when it asked. */
export class LockSpans implements LockTracer {
  constructor(
    private readonly api: OpenTelemetryApi,
    private readonly tracer: Tracer,
    private readonly describe: Describe,
  ) {}

  wait(lock: TracedLock): WaitTrace {
    const parent = this.api.context.active();
    const attributes = this.describe(lock);
    const name = (what: string) => (lock.template === undefined ? what : `${what} ${lock.template}`);
    const span = this.tracer.startSpan(name('lock.wait'), { attributes }, parent);
    return {
      granted: (handedOff) => {
        span.setAttribute(ATTRIBUTE.outcome, 'acquired');
        span.end();
        return this.#hold(name('lock.hold'), { ...attributes, [ATTRIBUTE.handedOff]: handedOff }, parent);
      },
      refused: (reason) => {
        this.#refuse(span, reason);
        span.end();
      },
    };
  }

  #hold(name: string, attributes: Attributes, parent: Context): HoldTrace {
    const { context, SpanStatusCode, trace } = this.api;
    const span = this.tracer.startSpan(name, { attributes }, parent);
    let outcome = 'released';
    return {
      // What the body does shows as a part of its hold.
      run: (body) => context.with(trace.setSpan(context.active(), span), body),
      lost: (reason) => {
        outcome = 'lost';
        span.addEvent('lock.lost', { [ATTRIBUTE.reason]: reason });
        span.setAttribute('error.type', 'LOCK_LOST');
        span.setStatus({ code: SpanStatusCode.ERROR, message: reason });
      },
      ended: () => {
        span.setAttribute(ATTRIBUTE.outcome, outcome);
        span.end();
      },
    };
  }

  #refuse(span: Span, reason: unknown): void {
    const { outcome, error } = failureOf(reason);
    span.setAttribute(ATTRIBUTE.outcome, outcome);
    if (error === undefined) return;
    span.setAttribute('error.type', error.code);
    span.recordException({ name: error.name, message: error.message });
    span.setStatus({ code: this.api.SpanStatusCode.ERROR, message: error.message });
  }
}
