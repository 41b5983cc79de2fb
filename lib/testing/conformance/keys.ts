import assert from 'node:assert/strict';
import type { StoreHold } from '../../contract/index.js';
import { assertHolder } from './assert-holder.js';
import type { ConformanceSuite } from './conformance.suite.js';

const LONG = 'long/'.repeat(2_048);

/** Keys that some backend or other would take for one another, for something of its own, or for syntax. */
const DISTINCT: readonly (readonly [kind: string, keys: readonly string[]])[] = [
  ['of 10 kB that differ in their last character', [LONG, `${LONG}a`, `${LONG}b`, LONG.slice(1)]],
  ['that differ in case', ['order', 'Order', 'ORDER', 'ß', 'ss', 'SS', 'i', 'I', 'ı', 'İ']],
  [
    'that differ in spaces',
    [' order', 'order ', 'order', 'order  ', 'or der', 'order\u00a0', ' ', '  ', 'order\t', 'order\n'],
  ],
  [
    'that differ in their Unicode form',
    ['é', 'e\u0301', 'Å', '\u212b', 'ﬁ', 'fi', 'ключ', '鍵', '🔑', '🔒', '\ufeffkey', 'key'],
  ],
  [
    'of colons, braces and percent signs',
    ['x:y:z', 'x:y', 'x', 'x%3Ay', 'x%y', '%', '{x}', '{x}:y', '{}', '{', '}', 'x}', ':', '::'],
  ],
  [
    'that look like names of the backend',
    ['x}:queue', 'x:queue', 'queue', 'fence', 'fence}', 'lock', 'lock:x', 'wake', '0', 'null'],
  ],
  [
    'that look like syntax',
    ["x'", 'x"', "x'; --", '*', 'x*', '?', '_', 'x_', '\\', '\\0', '/', '..', '$1', '@key', '__proto__', 'constructor'],
  ],
  ['with control characters', ['a\u0000b', 'a\u0000', 'a', 'a\u0001', 'a\rb', 'a\r\nb', 'a\u007f', '\u0000']],
  ['that are numbers', ['1', '01', '1.0', '1e0', '+1', '١']],
];

export function keys(suite: ConformanceSuite): void {
  suite.group('keys', () => {
    for (const [kind, texts] of DISTINCT) {
      suite.test(`${kind} are different keys`, async (bench) => {
        const [a, b] = await bench.stores(2);
        bench.onEnd(() => Promise.all(texts.map((key) => a.forceRelease(key).catch(() => undefined))));
        const holds: StoreHold[] = [];
        for (const key of texts) holds.push(await bench.take(a, key));
        for (const { key, owner } of holds) {
          assertHolder(await b.inspect(key), owner);
          assert.equal(await bench.attempt(b, key), undefined);
        }
        for (const [index, hold] of holds.entries()) {
          const outcomes = await a.renew?.([{ hold, ttl: bench.ms(10_000) }]);
          assert.deepEqual(outcomes ?? ['renewed'], ['renewed']);
          assert.equal(await hold.release(), true);
          for (const later of holds.slice(index + 1)) assertHolder(await b.inspect(later.key), later.owner);
        }
      });
    }

    suite.test('a waiter for a key of any form is woken', async (bench) => {
      const [a, b] = await bench.stores(2);
      for (const key of ['ключ 🔑', LONG, 'a:b{c}%d', "x'\\ *", 'a\u0000b\n']) {
        const hold = await bench.take(a, key);
        const waiter = await bench.queue(b, key);
        await hold.release();
        await (await bench.soonDone(waiter.hold(), `a waiter for ${key.slice(0, 20)}`)).release();
      }
    });
  });
}
