export { storeConformance } from './conformance/store-conformance.js';
export type { StoreConformance } from './conformance/conformance.options.js';
export type { ConformanceHooks, Hook, NotApplicable } from './conformance/conformance.hooks.js';
export type { ConformanceRunner } from './conformance/conformance.runner.js';
export { checkHistory, createHistoryChecker, type HistoryChecker } from './history-checker.js';
export type { FenceViolation, HistoryEvent, HistoryReport, Overlap, RecordedHold } from './history.js';
export { manualClock, type ManualClock } from './manual-clock.js';
export {
  testLocks,
  type TakenLock,
  type TestLockOptions,
  type TestLocks,
  type TestLocksOptions,
} from './test-locks.js';
export type { OutageOptions } from './outage.js';
export type { Rival } from './rival.js';
