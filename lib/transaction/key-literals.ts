import { keyHash, readableKey } from '../stores/sql/key-hash.js';

/** A key as it stands in statements: in hexadecimal, so that nothing in it can be taken for SQL. */
export interface KeyLiterals {
  /** SHA-256 of the key's UTF-8. */
  readonly hash: string;
  /** The key's UTF-8, cut off where it is very long and without NUL, which PostgreSQL cannot store. */
  readonly text: string;
  /** The first 64 bits of the hash, as two signed numbers. */
  readonly halves: readonly [number, number];
}

export function keyLiterals(key: string): KeyLiterals {
  const hash = keyHash(key);
  return {
    hash: hash.toString('hex'),
    text: Buffer.from(readableKey(key), 'utf8').toString('hex'),
    halves: [hash.readInt32BE(0), hash.readInt32BE(4)],
  };
}
