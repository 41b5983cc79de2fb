import type { RedisClient } from './redis.client.js';
import type { ConnectionListener } from './redis.driver.js';

/** Both families name these events alike. Returns a function that takes the listener away again. */
export function listenTo(client: RedisClient, { ready, ended, failed }: ConnectionListener): () => void {
  client.on('ready', ready);
  client.on('end', ended);
  client.on('error', failed);
  return () => {
    client.off('ready', ready);
    client.off('end', ended);
    client.off('error', failed);
  };
}
