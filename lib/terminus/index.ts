export {
  LockHealthIndicator,
  type LockHealth,
  type LockHealthOptions,
  type LockStoreHealth,
} from './lock.health-indicator.js';
