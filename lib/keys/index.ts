export { checkKey, checkKeys } from './check-key.js';
export { keyResolver, type Call, type KeySource, type MethodInfo, type ResolveKeys } from './key-resolver.js';
export type { KeyValue } from './key-value.js';
export { lockKey } from './lock-key.js';
