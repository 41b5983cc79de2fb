import type { EtcdCallOptions, EtcdClient, EtcdKeepAliveReply } from './etcd.client.js';

/**
 * One sign of life for a lease, on a stream of its own. One stream for all of them would have to be watched for silence, and each
 * would wait for the one before it.
 */
export async function keepAliveOnce(
  client: EtcdClient,
  lease: string,
  options: EtcdCallOptions,
): Promise<EtcdKeepAliveReply> {
  const stream = await client.leaseClient.leaseKeepAlive(options);
  return new Promise((resolve, reject) => {
    stream.on('data', resolve);
    stream.on('error', reject);
    stream.on('end', () => reject(new Error('14 UNAVAILABLE: the stream ended without an answer')));
    stream.write({ ID: lease });
    // Cancelling it would have etcd3 close the member's connections.
    stream.end();
  });
}
