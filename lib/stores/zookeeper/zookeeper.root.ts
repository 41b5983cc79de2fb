import { randomBytes } from 'node:crypto';
import { LockUnavailableError } from '../../errors/index.js';
import { codeOf, ZK } from './zookeeper.errors.js';
import type { Link } from './zookeeper.link.js';

/** Makes the path that all locks are under, below the chroot, which is not ours to make. */
export async function makeRoot({ calls, chroot, address }: Link, root: string): Promise<void> {
  let path = '';
  for (const name of root.slice(1).split('/')) {
    const top = path === '';
    path += `/${name}`;
    try {
      await calls.createPersistent(path);
    } catch (error) {
      const code = codeOf(error);
      if (code === ZK.noNode && top && chroot) {
        throw new LockUnavailableError(
          `zookeeper at ${address}: the chroot "${chroot}" does not exist. Make it first`,
          {
            retryable: false,
          },
        );
      }
      // Who may not make what is there already is told so here, and may use it all the same.
      if (code !== ZK.nodeExists && code !== ZK.noAuth) throw error;
    }
  }
}

/** Finds out whether nodes can be made and removed there. */
export async function probeRoot({ calls }: Link, root: string): Promise<void> {
  const probe = `${root}/probe-${randomBytes(8).toString('hex')}`;
  await calls.createEphemeral(probe);
  await calls.remove(probe);
}
