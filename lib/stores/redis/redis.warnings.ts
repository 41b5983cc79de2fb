import type { RedisConnection } from './redis.connection.js';

/** What the server is set up like that locks may be lost by, as far as its user may ask. */
export async function warningsOf(
  connection: RedisConnection,
  key: string,
  { asked }: { /** Whether it was said what a failover may cost. */ readonly asked: boolean },
): Promise<string[]> {
  let info: string;
  try {
    const sections = ['memory', 'replication'].map((section) => connection.command(key, 'INFO', section));
    info = (await Promise.all(sections)).map(String).join('\n');
  } catch {
    // An ACL without +info: nobody needs it for locks.
    return [];
  }
  const field = (name: string): string => new RegExp(`^${name}:(.*?)\\r?$`, 'm').exec(info)?.[1] ?? '';
  const warnings: string[] = [];
  const policy = field('maxmemory_policy');
  if (Number(field('maxmemory')) > 0 && policy !== '' && policy !== 'noeviction') {
    warnings.push(
      `redis at ${connection.address} has the maxmemory-policy ${policy}, by which it deletes locks when its memory is full, and ` +
        'others get them while they are held. Set noeviction, or keep locks on a Redis of their own.',
    );
  }
  const replicas = Number(field('connected_slaves'));
  if (replicas > 0 && !asked) {
    warnings.push(
      `redis at ${connection.address} has ${replicas} ${replicas === 1 ? 'replica' : 'replicas'}, to which it copies a lock after it has granted it: a failover ` +
        'may forget the lock. Set waitReplicas: { count: 1 } to have a replica confirm each lock, or waitReplicas: false to say that ' +
        'this is known.',
    );
  }
  return warnings;
}
