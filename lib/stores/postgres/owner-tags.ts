import { keyHash } from '../sql/key-hash.js';

/**
 * How others see whose a session lock is: beside it, its session takes four shared advisory locks whose numbers spell the
 * owner token. They cost no disk, live exactly as long as the lock, and are tries that never wait for anybody.
 *
 * Each number has 64 bits: 30 of the key's hash, the number of the part, and 32 of the token.
 */
export function ownerTags(key: string, owner: string): string[] {
  const first = BigInt(firstTag(key));
  return [0, 1, 2, 3].map((part) => {
    const bits = BigInt(Number.parseInt(owner.slice(8 * part, 8 * part + 8), 16));
    return String(BigInt.asIntN(64, ((first + BigInt(part)) << 32n) | bits));
  });
}

/** The first of the four numbers by which a key's tags are found, as an oid: without a sign. */
export function firstTag(key: string): number {
  return (keyHash(key).readUInt32BE(8) & ~3) >>> 0;
}

/** An expression that takes the tags `$2` to `$5` and is never NULL. */
export function takeTags(scope: '' | 'xact_'): string {
  return [2, 3, 4, 5].map((at) => `pg_try_advisory_${scope}lock_shared($${at}::bigint)::int`).join(' + ');
}

/** The advisory locks of this database. */
export const ADVISORY_LOCKS = `
  SELECT pid, classid::bigint AS class, objid::bigint AS object, granted FROM pg_locks
  WHERE locktype = 'advisory' AND objsubid = 1
    AND database = (SELECT oid FROM pg_database WHERE datname = current_database())`;

/** The owner that the tags of a session spell; `$2` is the first tag. */
export const spellOwner = (locks: string, pid: string): string => `(
  SELECT string_agg(lpad(to_hex(tag.object), 8, '0'), '' ORDER BY tag.class) FROM ${locks} AS tag
  WHERE tag.pid = ${pid} AND tag.granted AND tag.class BETWEEN $2::bigint AND $2::bigint + 3)`;

/** Where a lock has no tags: it was taken by other means, such as in somebody's transaction. */
export function readOwner(spelt: unknown, pid: unknown): string {
  return typeof spelt === 'string' && spelt.length === 32 ? spelt : `session ${String(pid)}`;
}
