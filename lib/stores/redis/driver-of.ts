import { IoredisClusterDriver } from './ioredis-cluster.driver.js';
import { IoredisDriver } from './ioredis.driver.js';
import { NodeRedisDriver } from './node-redis.driver.js';
import { NodeRedisGroupDriver } from './node-redis-group.driver.js';
import { isIoredis, isIoredisCluster, isNodeRedisGroup, type RedisClient, type RedisGroup } from './redis.client.js';
import type { RedisDriver } from './redis.driver.js';

/**
 * @param apart whether it must have a connection of its own, because it blocks it
 * @returns the driver, and whether its client is the store's own to close
 */
export function driverOf(
  client: RedisClient | RedisGroup,
  apart: boolean,
): { readonly driver: RedisDriver; readonly owned: boolean } {
  if (isIoredisCluster(client)) return { driver: new IoredisClusterDriver(client), owned: true };
  if (isNodeRedisGroup(client)) return { driver: new NodeRedisGroupDriver(client), owned: true };
  if (isIoredis(client)) {
    return { driver: apart ? IoredisDriver.apart(client) : new IoredisDriver(client), owned: apart };
  }
  return { driver: apart ? NodeRedisDriver.apart(client) : new NodeRedisDriver(client), owned: apart };
}
