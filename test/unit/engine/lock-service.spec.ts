import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { getEventListeners } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';
import { inspect } from 'node:util';
import type { LockStore } from '../../../lib/contract/index.js';
import { LockEngine } from '../../../lib/engine/lock.engine.js';
import { LockService, type Lock } from '../../../lib/index.js';
import { DEFAULT_LOCK_OPTIONS } from '../../../lib/options/index.js';
import { memoryStore } from '../../../lib/stores/memory/index.js';

let store: LockStore;
let engine: LockEngine;
let locks: LockService;

beforeEach(() => {
  store = memoryStore();
  ({ engine, locks } = start('here'));
});

afterEach(() => engine.close(0));

function start(label: string) {
  const engine = new LockEngine({ stores: new Map([['default', store]]), label, handOff: { max: 16, time: 50 } });
  return { engine, locks: new LockService(engine, { ...DEFAULT_LOCK_OPTIONS, store: 'default' }) };
}

const free = async (key = 'k') => (await locks.inspect(key)) === undefined;

describe('maxHold', () => {
  it('ends a hold that lasts too long, renewed or not, and frees the key at once', async () => {
    const lock = await locks.acquire('k', { ttl: 10_000, maxHold: 60 });
    const other = await locks.acquire('k', { wait: 1000 });
    expect([lock.held, other.held]).toEqual([false, true]);
    expect(() => lock.throwIfLost()).toThrow(/longer than maxHold \(60 ms\)/);
    expect(await lock.release()).toBe(false);
    expect(other.held).toBe(true);
    await other.release();
  });
});

describe('a lock in a log', () => {
  it('shows what it is, and nothing of the client behind it', async () => {
    const lock = await locks.acquire('k');
    const shown = { keys: ['k'], store: 'default', held: true, fencingToken: String(lock.fencingToken) };
    expect(JSON.parse(JSON.stringify({ lock }))).toEqual({ lock: shown });
    expect(inspect(lock, { depth: 30, showHidden: true })).toBe(inspect(shown, { depth: 30, showHidden: true }));
    await lock.release();
    expect(JSON.parse(JSON.stringify(lock)).held).toBe(false);
  });

  it('shows several keys as one lock, and one that is switched off', async () => {
    const shown = await locks.withLock(['b', 'a'], (lock) => JSON.stringify(lock));
    expect(JSON.parse(shown)).toMatchObject({ keys: ['a', 'b'], held: true, fencingToken: expect.any(String) });
    const off = await locks.withLock('k', { enabled: false }, (lock) => JSON.stringify(lock));
    expect(JSON.parse(off)).toEqual({ keys: ['k'], store: 'default', held: true });
  });
});

describe('minHold', () => {
  it('keeps the key for a while after the body, without keeping the caller', async () => {
    const before = Date.now();
    await locks.withLock('k', { minHold: 150 }, async () => undefined);
    expect(Date.now() - before).toBeLessThan(120);
    expect(await locks.tryAcquire('k')).toBeNull();
    const next = await locks.acquire('k', { wait: 2000 });
    expect(Date.now() - before).toBeGreaterThanOrEqual(145);
    await next.release();
  });

  it('leaves a lease behind that ends by itself when the process does', async () => {
    await locks.withLock('k', { minHold: 100, ttl: 60_000 }, async () => undefined);
    expect((await locks.inspect('k'))?.remaining).toBeLessThan(2000);
    await engine.close(0);
    ({ engine, locks } = start('other'));
    await sleep(110);
  });

  it('costs nothing when the body took longer', async () => {
    await locks.withLock('k', { minHold: 10 }, () => sleep(20));
    expect(await free()).toBe(true);
  });
});

describe('maxWaiters', () => {
  it('refuses at once who would be one too many', async () => {
    const lock = await locks.acquire('k', { maxWaiters: 1 });
    const first = locks.acquire('k', { maxWaiters: 1 });
    await expect(locks.acquire('k', { maxWaiters: 1 })).rejects.toMatchObject({
      code: 'LOCK_CONTENDED',
      message: expect.stringContaining('1 callers'),
    });
    await lock.release();
    await (await first).release();
    await (await locks.acquire('k', { maxWaiters: 0 })).release();
  });
});

describe('a lost lock', () => {
  const lose = async (body: (lock: Lock) => Promise<unknown>, onLost: 'report' | 'throw') =>
    locks.withLock('k', { onLost }, async (lock) => {
      await locks.forceRelease('k');
      return body(lock);
    });

  it('does not alter what the body returns or throws', async () => {
    const lost: unknown[] = [];
    locks.on('lost', ({ key }) => lost.push(key));
    await expect(lose(async () => 1, 'report')).resolves.toBe(1);
    await expect(lose(() => Promise.reject(new Error('own')), 'report')).rejects.toThrow('own');
    await expect(lose(() => Promise.reject(new Error('own')), 'throw')).rejects.toThrow('own');
    expect(lost).toEqual(['k', 'k', 'k']);
  });

  it("is an error with onLost: 'throw', which carries the result", async () => {
    await expect(lose(async () => ({ paid: true }), 'throw')).rejects.toMatchObject({
      code: 'LOCK_LOST',
      key: 'k',
      result: { paid: true },
    });
  });

  it('aborts the signal, also one that is asked for afterwards', async () => {
    const lock = await locks.acquire('k', { ttl: 50, renew: false });
    const { signal } = lock;
    await sleep(80);
    expect(signal.reason).toMatchObject({ code: 'LOCK_LOST', message: expect.stringContaining('lease ran out') });
    expect(lock.signal).toBe(signal);
    const late = await locks.acquire('late', { ttl: 30, renew: false });
    await sleep(50);
    expect(late.signal.aborted).toBe(true);
    expect([late.held, late.remaining()]).toEqual([false, 0]);
  });

  it('is found out on the next line by code that blocked the event loop', async () => {
    const lock = await locks.acquire('k', { ttl: 30 });
    for (const end = Date.now() + 60; Date.now() < end;);
    expect(() => lock.throwIfLost()).toThrow(expect.objectContaining({ code: 'LOCK_LOST' }));
  });
});

describe('options', () => {
  it('tells what a lock goes by, each value by itself', () => {
    const defaults = { ...DEFAULT_LOCK_OPTIONS, store: 'default' };
    expect(locks.options()).toEqual(defaults);
    expect(locks.options({ ttl: '5s' })).toEqual({ ...defaults, ttl: 5000 });
    expect(locks.options({ renew: false })).toEqual({ ...defaults, renew: false });
  });
});

describe('extend', () => {
  it('makes a lease last, and never shorter', async () => {
    const lock = await locks.acquire('k', { ttl: 100, renew: false });
    expect(await lock.extend('10s')).toBeGreaterThan(9000);
    expect(await lock.extend(100)).toBeGreaterThan(9000);
    await sleep(120);
    expect(lock.held).toBe(true);
    await lock.release();
    await expect(lock.extend()).rejects.toMatchObject({ code: 'LOCK_LOST' });
  });
});

describe('nesting', () => {
  it('keeps a key until the last body under it has ended', async () => {
    let inner!: Promise<unknown>;
    await locks.withLock('k', async () => {
      inner = locks.withLock('k', { reentrant: true }, () => sleep(50));
    });
    expect(await free()).toBe(false);
    await inner;
    expect(await free()).toBe(true);
  });

  it('waits like anybody else once the outer lock is given back', async () => {
    let later!: () => Promise<Lock>;
    await locks.withLock('k', async () => {
      const gate = sleep(20);
      const detached = gate.then(() => locks.acquire('k', { wait: 0 }));
      later = () => detached;
    });
    const lock = await later();
    expect(lock.held).toBe(true);
    await lock.release();
  });

  it('drags no past locks along when work starts itself again from within', async () => {
    let rounds = 0;
    const again = async (): Promise<void> =>
      locks.withLock('again', async () => {
        rounds += 1;
        if (rounds < 200) setImmediate(() => void again());
      });
    await again();
    while (rounds < 200) await sleep(1);
    const depth = await new Promise<number>((resolve) => {
      void locks.withLock('x', async () => {
        setImmediate(() => void locks.withLock('y', async () => resolve(engine.chain.depth)));
      });
    });
    expect(depth).toBe(1);
  });

  it('knows the innermost lock, and each by its key', async () => {
    expect(locks.current()).toBeUndefined();
    await locks.withLock(['b', 'a'], async (outer) => {
      await locks.withLock('c', async (inner) => {
        expect(locks.current()).toBe(inner);
        expect(locks.current('a')).toBe(outer);
      });
      expect(locks.current()).toBe(outer);
      expect(outer.keys).toEqual(['a', 'b']);
      expect(outer.fencingToken).toBeGreaterThan(0n);
    });
    expect(locks.current()).toBeUndefined();
  });
});

describe("the caller's signal", () => {
  it('ends the wait with its own reason and leaves no listener', async () => {
    const lock = await locks.acquire('k');
    const controller = new AbortController();
    const waiting = locks.acquire('k', { signal: controller.signal });
    controller.abort(new Error('enough'));
    await expect(waiting).rejects.toThrow('enough');
    await expect(locks.acquire('k', { signal: AbortSignal.abort(new Error('before')) })).rejects.toThrow('before');
    const other = new AbortController();
    await lock.release();
    await (await locks.acquire('k', { signal: other.signal })).release();
    expect([controller, other].flatMap(({ signal }) => getEventListeners(signal, 'abort'))).toEqual([]);
  });
});

it('puts one listener on a signal, however many wait with it', async () => {
  const lock = await locks.acquire('k');
  const controller = new AbortController();
  const { signal } = controller;
  const waiting = Array.from({ length: 20 }, () => locks.acquire('k', { signal }));
  expect(getEventListeners(signal, 'abort')).toHaveLength(1);
  controller.abort(new Error('enough'));
  expect(await Promise.allSettled(waiting)).toEqual(waiting.map(() => ({ status: 'rejected', reason: signal.reason })));
  expect(getEventListeners(signal, 'abort')).toEqual([]);
  await lock.release();
});

describe('tryAcquire', () => {
  it('tries once, also when wait is undefined', async () => {
    const lock = await locks.acquire('k');
    const before = Date.now();
    expect(await locks.tryAcquire('k', { wait: undefined })).toBeNull();
    expect(Date.now() - before).toBeLessThan(1000);
    await lock.release();
  });
});

describe('forceRelease', () => {
  it('tells a holder in this process at once, and lets the next in', async () => {
    const lock = await locks.acquire('k', { ttl: 60_000 });
    const next = locks.acquire('k');
    expect(await locks.forceRelease('k')).toBe(true);
    expect(lock.held).toBe(false);
    await (await next).release();
  });

  it('ends a minHold that is left over', async () => {
    await locks.withLock('k', { minHold: 60_000 }, async () => undefined);
    const next = locks.acquire('k', { wait: 2000 });
    expect(await locks.forceRelease('k')).toBe(true);
    await (await next).release();
  });
});

describe('several keys', () => {
  it('are given up within the wait, also when the store has stopped answering', async () => {
    const other = start('other');
    const held = await other.locks.acquire('b');
    const acquire = store.acquire.bind(store);
    store.acquire = async (request) => {
      const result = await acquire(request);
      if (result.acquired) result.hold.release = () => sleep(2000).then(() => true);
      return result;
    };
    const before = Date.now();
    await expect(locks.withLock(['a', 'b'], { wait: 100 }, async () => undefined)).rejects.toMatchObject({
      code: 'LOCK_CONTENDED',
    });
    expect(Date.now() - before).toBeLessThan(1000);
    await held.release();
    await other.engine.close(0);
  });
});

describe('a lease that is over before the answer comes', () => {
  it('is tried again with a pause, so that the event loop goes on', async () => {
    const acquire = store.acquire.bind(store);
    let tries = 0;
    store.acquire = async (request) => {
      tries += 1;
      const result = await acquire(request);
      return result.acquired ? { ...result, hold: Object.assign(result.hold, { validUntil: 0 }) } : result;
    };
    await expect(locks.acquire('k', { wait: 200 })).rejects.toMatchObject({
      code: 'LOCK_UNAVAILABLE',
      message: expect.stringContaining('longer than the ttl'),
    });
    expect(tries).toBeLessThan(20);
  });
});

describe('hand-off within the process', () => {
  it('gives every hold a larger token, and others their turn after a while', async () => {
    const other = start('other');
    const order: string[] = [];
    const tokens: bigint[] = [];
    const run = (who: string, service: LockService) =>
      service.withLock('k', async (lock) => {
        order.push(who);
        tokens.push(lock.fencingToken);
        await sleep(1);
      });
    const first = locks.acquire('k');
    const here = Array.from({ length: 30 }, () => run('here', locks));
    const there = run('there', other.locks);
    await (await first).release();
    await Promise.all([...here, there]);
    expect(tokens).toEqual([...tokens].sort((a, b) => (a < b ? -1 : 1)));
    expect(new Set(tokens).size).toBe(31);
    expect(order.indexOf('there')).toBeLessThanOrEqual(17);
    await other.engine.close(0);
  });

  it('leaves out those whose lease would not be renewed', async () => {
    const lock = await locks.acquire('k', { ttl: 10_000 });
    const next = locks.acquire('k', { ttl: 10_000, renew: false });
    await sleep(20);
    await lock.release();
    expect((await next).remaining()).toBeGreaterThan(9_880);
    await (await next).release();
  });
});

describe('shutdown', () => {
  it('lets a running body take the further locks it needs, and nobody else', async () => {
    let closing!: Promise<void>;
    await locks.withLock('k', async () => {
      closing = engine.close(1000);
      await expect(locks.withLock('nested', async () => 'ran')).resolves.toBe('ran');
    });
    await closing;
    await expect(locks.acquire('k')).rejects.toMatchObject({ code: 'LOCK_SHUTDOWN', statusCode: 503 });
  });
});

it('leaves nothing behind over many keys', async () => {
  for (let i = 0; i < 5_000; i += 1) await locks.withLock(`k:${i}`, async () => undefined);
  await Promise.all(Array.from({ length: 500 }, (_, i) => locks.withLock(`k:${i % 50}`, () => sleep(0))));
  expect([engine.holds.size, engine.releases.size, engine.laneCount]).toEqual([0, 0, 0]);
});
