export * from './clock.js';
export * from './guarantees.js';
export * from './lease.js';
export * from './store.contract.js';
