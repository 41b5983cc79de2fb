import type { ConnectionListener } from './redis.driver.js';

interface Emitter {
  on(event: string, listener: (...args: unknown[]) => void): unknown;
  off(event: string, listener: (...args: unknown[]) => void): unknown;
}

/** Both families name these events alike. Returns a function that takes the listener away again. */
export function listenTo(client: Emitter, { ready, ended, failed }: ConnectionListener): () => void {
  client.on('ready', ready);
  client.on('end', ended);
  client.on('error', failed);
  return () => {
    client.off('ready', ready);
    client.off('end', ended);
    client.off('error', failed);
  };
}
