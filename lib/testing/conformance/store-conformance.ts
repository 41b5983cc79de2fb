import { closing } from './closing.js';
import type { StoreConformance } from './conformance.options.js';
import { globalRunner, type ConformanceRunner } from './conformance.runner.js';
import { ConformanceSuite } from './conformance.suite.js';
import { engineClosing } from './engine-closing.js';
import { engineHandOff } from './engine-hand-off.js';
import { engineLeases } from './engine-leases.js';
import { engineLimits } from './engine-limits.js';
import { engineOutages } from './engine-outages.js';
import { engineRenewal } from './engine-renewal.js';
import { engineSeveralKeys } from './engine-several-keys.js';
import { engineWaiting } from './engine-waiting.js';
import { expiry } from './expiry.js';
import { fencing } from './fencing.js';
import { inspection } from './inspection.js';
import { keys } from './keys.js';
import { outages } from './outages.js';
import { ownership } from './ownership.js';
import { promises } from './promises.js';
import { queueOrder } from './queue-order.js';
import { renewal } from './renewal.js';
import { unknownOutcomes } from './unknown-outcomes.js';
import { waiting } from './waiting.js';

const PARTS = [
  promises,
  ownership,
  expiry,
  renewal,
  waiting,
  queueOrder,
  fencing,
  keys,
  inspection,
  unknownOutcomes,
  outages,
  closing,
  engineWaiting,
  engineHandOff,
  engineLeases,
  engineLimits,
  engineRenewal,
  engineSeveralKeys,
  engineOutages,
  engineClosing,
];

/**
 * Defines the tests that every store must pass, below a `describe(name)`: the store by itself, and under the engine
 * with two and more processes' worth of contenders.
 *
 * @param runner the test runner's functions, where they are not global
 * @example
 * ```ts
 * storeConformance('my store', {
 *   createStore: () => myStore({ url }),
 *   guarantees: { ownership: true, fencing: 'global', survivesFailover: false, fifo: true,
 *                 reach: 'network', expiry: 'lease', wakeUp: 'push' },
 *   hooks: {
 *     pauseServer: () => { server.pause(); return () => server.resume(); },
 *     refuseConnections: 'not applicable: the client keeps no connection',
 *     …
 *   },
 * });
 * ```
 */
export function storeConformance(
  name: string,
  options: StoreConformance,
  runner: ConformanceRunner = globalRunner(),
): void {
  const suite = new ConformanceSuite(options, runner);
  suite.group(name, () => {
    for (const part of PARTS) part(suite);
  });
}
