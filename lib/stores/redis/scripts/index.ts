export { acquireScript } from './acquire.script.js';
export { forceReleaseScript } from './force-release.script.js';
export { inspectScript } from './inspect.script.js';
export { releaseScript } from './release.script.js';
export { renewScript } from './renew.script.js';
export type { RedisScript } from './script.js';
