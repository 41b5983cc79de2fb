export * from './duration.js';
export * from './lock.options.js';
export * from './resolve-options.js';
