import { createHash } from 'node:crypto';

let last: { readonly key: string; readonly hash: Buffer } | undefined;

/** SHA-256 of a key: 32 bytes by which every server compares keys exactly, whatever their length and its collation. */
export function keyHash(key: string): Buffer {
  // One key is asked for several times in a row.
  if (last?.key !== key) last = { key, hash: createHash('sha256').update(key, 'utf8').digest() };
  return last.hash;
}

/** A key as a text column can hold it, for people to read. Not for comparing: NUL, which PostgreSQL refuses, is replaced. */
export function readableKey(key: string): string {
  return key.replaceAll('\0', '\u{FFFD}').slice(0, 1_000);
}
