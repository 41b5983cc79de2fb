import type { StoreGuarantees } from '../../contract/index.js';
import type { PostgresMode } from './postgres.options.js';

const COMMON = {
  ownership: true,
  fencing: 'global',
  // A standby that is promoted lacks what an asynchronous primary had not sent, and has no sessions.
  survivesFailover: false,
  reach: 'network',
  wakeUp: 'push',
} as const;

/** What each mode promises. */
export const GUARANTEES: Readonly<Record<PostgresMode, StoreGuarantees>> = {
  table: Object.freeze({ ...COMMON, fifo: true, expiry: 'lease' }),
  // Whoever waits for a row that is removed meanwhile starts over.
  row: Object.freeze({ ...COMMON, fifo: false, expiry: 'connection' }),
  // The server's own queue: a lock that is given back goes to the first of it, and a try never overtakes it.
  advisory: Object.freeze({ ...COMMON, fifo: true, expiry: 'connection' }),
};
