export * from './duration.js';
export * from './known-options.js';
export * from './lock.options.js';
export * from './resolve-options.js';
