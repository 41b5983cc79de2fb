export type { Fenced } from './fence.js';
export { fencingFrom, fencingHeaders, type HeadersLike, type RemoteFence } from './http-fence.js';
export { fencedCommand, type FenceClient, type FencedCommandOptions } from './redis-fence.js';
export { sqlFence, type FenceDialect, type SqlFence, type SqlFenceOptions } from './sql-fence.js';
