export { LockModule } from './lock.module.js';
export { LOCK_MODULE_OPTIONS, type LockModuleExtras, type LockOptionsFactory } from './lock.module-definition.js';
export type { HandOffOptions, LockModuleOptions } from './lock-module.options.js';
export { LockService } from './lock.service.js';
export type { LockInspection } from './lock.inspection.js';
export { DistributedLock, type Lockable, type LockedMethodDecorator } from './decorators/distributed-lock.decorator.js';
export type { DistributedLockOptions, ReturnShape } from './decorators/distributed-lock.options.js';
export { LockKey } from './decorators/lock-key.decorator.js';
export { LockInterceptor } from './interceptors/lock.interceptor.js';
export type { LockErrorAnswer } from './interceptors/lock.handling.js';
export { lockKey, type KeyValue } from './keys/index.js';
export type { Lock } from './engine/lock.js';
export type { LockJson } from './engine/shown-lock.js';
export type { LockEventAbout, LockEventListener, LockEventName, LockEvents } from './engine/lock.events.js';
export type { LockTelemetry, LockTelemetrySource, StoreName } from './engine/lock.telemetry.js';
export type { HoldTrace, LockTracer, TracedLock, WaitTrace } from './engine/lock.tracer.js';
export type {
  AcquireOptions,
  ContendedInfo,
  Duration,
  LockOptions,
  OnContended,
  ResolvedLockOptions,
} from './options/index.js';
export * from './errors/index.js';
export type {
  AcquireRequest,
  AcquireResult,
  HolderInfo,
  LockMode,
  LockStore,
  QueueStatus,
  RenewOutcome,
  RenewRequest,
  StoreGuarantees,
  StoreHold,
  StoreInspection,
} from './contract/index.js';
