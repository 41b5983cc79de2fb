import type { LockStore, StoreGuarantees } from './contract/index.js';
import { LockOptionsError } from './errors/index.js';
import type { ResolvedLockOptions } from './options/index.js';

/** @throws LockOptionsError when `correctness` is asked of a store that cannot give it alone, with the reasons and the choices */
export function requireGuarantee(
  { name, store }: { readonly name: string; readonly store: LockStore },
  guarantee: ResolvedLockOptions['guarantee'],
  place: string,
): void {
  if (guarantee === 'efficiency') return;
  const reasons = shortcomings(store.guarantees);
  if (reasons.length === 0) return;
  throw new LockOptionsError(
    `${place}: guarantee is 'correctness', which the store "${name}" (${store.name}) cannot give alone: ${reasons.join('; ')}. ` +
      `Use a store that can, such as etcdStore() or zookeeperStore()${fencing(store.guarantees)}.`,
  );
}

/** The other choice, where it is one. */
function fencing({ fencing }: StoreGuarantees): string {
  if (fencing === 'none') return '';
  return (
    "; or let the resource check the lock's fencing token (nestjs-distributed-lock/fencing), and say " +
    "guarantee: 'efficiency' here"
  );
}

function shortcomings({ reach, ownership, survivesFailover, fencing }: StoreGuarantees): string[] {
  const reasons: string[] = [];
  if (reach !== 'network')
    reasons.push(
      reach === 'host' ? 'it excludes the processes of one host only' : 'it excludes nobody outside of this process',
    );
  if (!ownership) reasons.push('it does not compare owners');
  if (reach === 'network' && !survivesFailover) reasons.push('a failover may forget a lock that it has granted');
  if (fencing === 'none') reasons.push('it gives no fencing tokens, so that nothing stops a holder that was paused');
  return reasons;
}
