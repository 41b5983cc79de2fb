import { randomFillSync } from 'node:crypto';

const TOKEN_BYTES = 16;
// One call into the random source for many tokens: it costs more than all the rest of a token.
const pool = Buffer.alloc(TOKEN_BYTES * 256);
let next = pool.length;

/** 128 random bits as 32 hexadecimal digits. */
export function ownerToken(): string {
  if (next === pool.length) {
    randomFillSync(pool);
    next = 0;
  }
  return pool.toString('hex', next, (next += TOKEN_BYTES));
}
