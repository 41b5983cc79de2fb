import { script } from '../../redis/scripts/script.js';

/**
 * Which server this is. Also what a silent node is asked now and then: it touches no key.
 *
 * Returns: what INFO says of the server.
 */
export const identityScript = script('identity', `return redis.call('INFO', 'server')`);
