import type { Clock } from '../contract/index.js';
import type { Cleaner } from './cleaner.js';
import type { Hold } from './hold.js';
import type { LockEventHub } from './lock.events.js';
import type { LockTracer } from './lock.tracer.js';
import type { Watchdog } from './watchdog.js';

/** How long a hold may be passed on within the process before other processes get their turn. */
export interface HandOffLimits {
  /** How many times in a row; 0 switches hand-off off. */
  readonly max: number;
  /** For how many ms after the store's grant. */
  readonly time: number;
}

/** What the parts of one engine share. */
export interface EngineContext {
  readonly clock: Clock;
  readonly events: LockEventHub;
  readonly tracer: LockTracer | undefined;
  readonly watchdog: Watchdog;
  readonly cleaner: Cleaner;
  readonly handOff: HandOffLimits;
  /** What stores show as the holder. */
  readonly label: string;
  readonly holds: Set<Hold>;
  /** Contenders that have not come to an end yet. */
  readonly contending: Set<Promise<void>>;
  /** Releases that their stores have not answered yet. */
  readonly releases: Set<Promise<unknown>>;
  forget(hold: Hold): void;
}
