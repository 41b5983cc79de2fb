import type { Attributes } from '@opentelemetry/api';
import type { LockTelemetrySource } from '../engine/lock.telemetry.js';
import type { TracedLock } from '../engine/lock.tracer.js';

/** The attributes of metrics and spans. There is none for the key: keys are private, and too many for any metrics store. */
export const ATTRIBUTE = {
  store: 'distributed_lock.store',
  backend: 'distributed_lock.backend',
  template: 'distributed_lock.template',
  outcome: 'distributed_lock.outcome',
  handedOff: 'distributed_lock.handed_off',
  reason: 'distributed_lock.lost.reason',
} as const;

/** Which of them each lock has. */
export type Describe = (lock: TracedLock) => Attributes;

export function describeLocks({ stores }: Pick<LockTelemetrySource, 'stores'>): Describe {
  const backends = new Map(stores.map(({ name, backend }) => [name, backend]));
  return ({ store, template }) => {
    const attributes: Attributes = { [ATTRIBUTE.store]: store };
    const backend = backends.get(store);
    if (backend !== undefined) attributes[ATTRIBUTE.backend] = backend;
    if (template !== undefined) attributes[ATTRIBUTE.template] = template;
    return attributes;
  };
}
