export * from './lock.error.js';
export * from './lock-contended.error.js';
export * from './lock-key.error.js';
export * from './lock-lost.error.js';
export * from './lock-options.error.js';
export * from './lock-reentrancy.error.js';
export * from './lock-shutdown.error.js';
export * from './lock-unavailable.error.js';
