import { describe, expect, it } from '@jest/globals';
import { slotOf } from '../../../lib/stores/redis/cluster.slots.js';
import { RedisKeys } from '../../../lib/stores/redis/redis.keys.js';

const KEYS = ['order:1', 'a}b', '}', '{x}', 'ключ 🔑', 'with space', ':'];

describe('in a cluster', () => {
  const keys = new RedisKeys('lock', { clustered: true });

  it.each(KEYS)('the names of %j stand in one slot', (key) => {
    const slots = [keys.lock(key), keys.queue(key), keys.fence(key)].map(slotOf);
    expect(new Set(slots).size).toBe(1);
    expect(keys.group(key)).toBe(slots[0]);
  });

  it('there are no more counters than slots, and every process finds the same', () => {
    const names = (each: RedisKeys) => Array.from({ length: 40_000 }, (_, index) => each.fence(`key ${index}`));
    const found = names(keys);
    expect(new Set(found).size).toBeLessThanOrEqual(16_384);
    expect(names(new RedisKeys('lock', { clustered: true })).reverse()).toEqual(found.reverse());
  });

  it('a counter is nobody’s lock', () => {
    expect(keys.fence('order:1')).toMatch(/^\{lock#\d+\}:fence$/);
  });
});

it('elsewhere all keys have one counter and are renewed together', () => {
  const keys = new RedisKeys('lock', { clustered: false });
  expect(new Set(KEYS.map((key) => keys.fence(key)))).toEqual(new Set(['{lock}:fence']));
  expect(new Set(KEYS.map((key) => keys.group(key)))).toEqual(new Set([0]));
});
