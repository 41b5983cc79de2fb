import { expect, test } from '@jest/globals';
import { LockEngine } from '../../../lib/engine/lock.engine.js';
import { memoryStore } from '../../../lib/stores/memory/index.js';
import { manualClock } from '../../../lib/testing/index.js';

const REQUEST = { key: 'key', renew: true, maxHold: Infinity, minHold: 0, maxWaiters: Infinity, handOff: true };

test('timers run in the order in which they are due, each at its own time', async () => {
  const clock = manualClock();
  const ran: string[] = [];
  const note = (name: string) => () => ran.push(`${name}@${clock.now()}`);
  clock.after(20, note('late'));
  clock.after(10, note('first'));
  clock.after(10, note('second'));
  clock.after(15, note('never')).cancel();
  clock.after(5, () => clock.after(7, note('set on the way')));
  expect(clock.timers).toBe(4);
  await clock.advance(12);
  expect(ran).toEqual(['first@10', 'second@10', 'set on the way@12']);
  expect(clock.now()).toBe(12);
  await clock.advance(100);
  expect(ran.at(-1)).toBe('late@20');
  expect(clock.now()).toBe(112);
  expect(clock.timers).toBe(0);
});

test('what a timer starts settles before the next timer runs', async () => {
  const clock = manualClock();
  const ran: string[] = [];
  clock.after(1, () => void Promise.resolve().then(() => Promise.resolve().then(() => ran.push('settled'))));
  clock.after(2, () => ran.push('next'));
  await clock.advance(5);
  expect(ran).toEqual(['settled', 'next']);
});

test('leases, renewals and waits of an engine run out when the test says so', async () => {
  const clock = manualClock();
  const store = memoryStore({ clock });
  const options = { label: 'test', handOff: { max: 0, time: 0 }, clock };
  const [a, b] = [0, 1].map(() => new LockEngine({ ...options, stores: new Map([['default', store]]) }));
  const hold = await a!.acquire(a!.backend('default', 'test'), { ...REQUEST, ttl: 30_000, wait: 0 });
  const refused = expect(
    b!.acquire(b!.backend('default', 'test'), { ...REQUEST, ttl: 30_000, wait: 3_600_000 }),
  ).rejects.toMatchObject({ code: 'LOCK_CONTENDED', waited: 3_600_000 });
  await clock.advance(3_599_999);
  expect(hold.held).toBe(true);
  await clock.advance(1);
  await refused;
  expect(await hold.release()).toBe(true);

  const left = await a!.acquire(a!.backend('default', 'test'), { ...REQUEST, renew: false, ttl: 30_000, wait: 0 });
  await clock.advance(29_000);
  expect(left.held).toBe(true);
  await clock.advance(1_000);
  expect(left.held).toBe(false);
  expect(await store.inspect('key')).toBeUndefined();
});
