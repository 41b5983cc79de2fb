import { randomBytes } from 'node:crypto';
import type { EtcdNames } from './etcd.names.js';
import type { EtcdRequests } from './etcd.requests.js';
import { get, put } from './etcd.txn.js';

const TTL = 5;

/**
 * Goes once through what the store will send, under a name of its own, so that a missing permission or a wrong password is found when the
 * application starts.
 *
 * @param timeout ms for all of it
 */
export async function probe(requests: EtcdRequests, names: EtcdNames, timeout: number): Promise<void> {
  const until = performance.now() + timeout;
  const left = (): number => Math.max(1, until - performance.now());
  const lease = String(randomBytes(8).readBigUInt64BE() >> 1n);
  const grant = { TTL, ID: lease };
  await requests.ask((client, options) => client.leaseClient.leaseGrant(grant, options), timeout);
  try {
    const name = names.session(lease);
    await requests.txn({ success: [put(name, '', lease), get(name)] }, left());
  } finally {
    const revoked = requests.ask((client, options) => client.leaseClient.leaseRevoke({ ID: lease }, options), left());
    // It ends by itself.
    await revoked.catch(() => undefined);
  }
}
