import { Injectable } from '@nestjs/common';
import { DistributedLock } from 'nestjs-distributed-lock';
import { memoryStore } from 'nestjs-distributed-lock/memory';
import { randomBytes } from 'node:crypto';
import { EXCLUSIVE } from '../dist/esm/contract/index.js';
import { keyResolver } from '../dist/esm/keys/key-resolver.js';
import { table } from '../scripts/support/table.mjs';
import { us } from './support/format.mjs';
import { locksApp } from './support/locks-app.mjs';
import { fastest, inRounds, medians } from './support/rounds.mjs';

export const title = 'The decorator: memory store, nobody else there';

const TARGET = 15;
const KEYS = 1000;
const ids = Array.from({ length: KEYS }, (_, index) => `${index}`);
const keys = ids.map((id) => `order:${id}`);

class Orders {
  async plain(orderId) {
    return orderId;
  }

  async locked(orderId) {
    return orderId;
  }
}
// What TypeScript makes of `@Injectable()` and `@DistributedLock('order:<orderId>')`.
const descriptor = Object.getOwnPropertyDescriptor(Orders.prototype, 'locked');
DistributedLock('order:<orderId>')(Orders.prototype, 'locked', descriptor);
Object.defineProperty(Orders.prototype, 'locked', descriptor);
Injectable()(Orders);

const resolve = keyResolver('order:<orderId>', {
  method: Orders.prototype.plain,
  named: new Map(),
  place: 'benchmark',
});

/** What every wrapper must do at the least: one more async function around the method. */
const wrapped = async (orders, id) => orders.plain(id);

export async function run() {
  const store = memoryStore();
  const { app, locks, close } = await locksApp(memoryStore(), [Orders]);
  const orders = app.get(Orders);
  const owners = Array.from({ length: KEYS }, () => randomBytes(16).toString('hex'));
  const request = { label: 'benchmark', mode: EXCLUSIVE, ttl: 30_000, wait: true, onStatus: () => undefined };
  // A real request makes its signal only when it is asked for.
  const requests = keys.map((key, index) => ({ ...request, key, owner: owners[index] }));

  const each = (work) => async (calls) => {
    for (let call = 0; call < calls; call += 1) await work(call % KEYS);
  };
  const times = await inRounds(
    {
      undecorated: each((index) => orders.plain(ids[index])),
      wrapped: each((index) => wrapped(orders, ids[index])),
      decorated: each((index) => orders.locked(ids[index])),
      withLock: each((index) => locks.withLock(keys[index], () => orders.plain(ids[index]))),
      acquireRelease: each(async (index) => (await locks.acquire(keys[index])).release()),
      store: each(async (index) => (await store.acquire(requests[index])).hold.release()),
      keys: async (calls) => {
        for (let call = 0; call < calls; call += 1)
          resolve({ self: orders, args: [ids[call % KEYS]], request: () => undefined });
      },
    },
    { rounds: 21, calls: 10_000, warmUp: 3 },
  );
  await close();
  const microseconds = medians(times);
  const overhead = microseconds.decorated - microseconds.undecorated;
  return { microseconds, fastest: fastest(times), overhead, target: TARGET, onTarget: overhead < TARGET };
}

export function print({ microseconds, fastest, overhead, target, onTarget }) {
  const rows = [
    ['the method itself', 'undecorated'],
    ['… within one more async function', 'wrapped'],
    ['… with @DistributedLock', 'decorated'],
    ['… in locks.withLock(key, …)', 'withLock'],
    ['locks.acquire(key) and release()', 'acquireRelease'],
    ["the store's acquire and release alone", 'store'],
    ['working the key out of the arguments', 'keys'],
  ].map(([label, name]) => [label, us(microseconds[name]), us(fastest[name])]);
  return `${table(['one call of', 'median', 'fastest round'], rows)}

The decorator adds ${us(overhead)} a call (target: less than ${target} µs: ${onTarget ? 'met' : 'MISSED'}). Of that:
  store                ${us(microseconds.store - microseconds.undecorated)}
  engine and service   ${us(microseconds.withLock - microseconds.store)}
  key                  ${us(microseconds.keys)}
  wrapper              ${us(microseconds.decorated - microseconds.withLock - microseconds.keys)}`;
}
