import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import { once } from 'node:events';
import { memoryStore } from '../../../lib/stores/memory/index.js';
import { manualClock, testLocks, type TestLocks } from '../../../lib/testing/index.js';
import { TestServices } from '../../support/test-services.js';

let locks: TestLocks;
const services = new TestServices();
const service = (instance?: string) => services.start(locks, instance);

beforeEach(() => {
  locks = testLocks();
});

afterEach(() => services.close());

describe('held(), holder() and taken', () => {
  it('tell who has a key, at once, and what was taken, in order', async () => {
    const [a, b] = [service('a'), service('b')];
    const seen: unknown[] = [];
    await a.withLock('x', (lock) => {
      seen.push(locks.held('x'), locks.holder('x'), locks.held('y'));
      seen.push(lock.fencingToken === locks.taken.at(-1)?.fencingToken);
    });
    await b.withLock(['z', 'y'], () => seen.push(locks.holder('y'), locks.holder('z')));
    expect(seen).toEqual([true, 'a', false, true, 'b', 'b']);
    expect([locks.held('x'), locks.holder('x')]).toEqual([false, undefined]);
    expect(locks.taken.map(({ key, holder }) => `${holder} ${key}`)).toEqual(['a x', 'b y', 'b z']);
  });

  it('count what callers of one process take one after the other', async () => {
    const app = service();
    await Promise.all([1, 2, 3].map(() => app.withLock('x', () => undefined)));
    expect(locks.taken).toHaveLength(3);
  });

  it('let two services of one store contend, until the first has given the key back', async () => {
    const [a, b] = [service('a'), service('b')];
    const held = await a.acquire('x');
    await expect(b.acquire('x', { wait: 0 })).rejects.toMatchObject({ code: 'LOCK_CONTENDED', holder: 'a' });
    const waiting = b.acquire('x');
    await held.release();
    expect((await waiting).held).toBe(true);
    expect(locks.holder('x')).toBe('b');
  });

  it('outlast the closing of one service', async () => {
    const [a, b] = [service('a'), service('b')];
    await a.acquire('x');
    await b.acquire('y');
    await services.engines[0]?.close(0);
    expect([locks.held('x'), locks.holder('y')]).toEqual([false, 'b']);
  });
});

describe('contend()', () => {
  it('has the key taken until it is released', async () => {
    const app = service();
    const rival = locks.contend('x', 'other:1');
    await expect(app.acquire('x', { wait: 0 })).rejects.toMatchObject({ code: 'LOCK_CONTENDED', holder: 'other:1' });
    expect(await app.tryAcquire('x')).toBeNull();
    expect(await app.withLock('x', { wait: 0, onContended: 'skip' }, () => 'ran')).toBeUndefined();
    rival.release();
    rival.release();
    expect(await app.withLock('x', () => 'ran')).toBe('ran');
    expect(locks.taken).toHaveLength(1);
  });

  it('tells when somebody waits, who goes on as soon as it is released', async () => {
    const app = service();
    const rival = locks.contend('x');
    let ran = false;
    const waiting = app.withLock('x', () => (ran = true));
    await rival.met();
    expect(ran).toBe(false);
    rival.release();
    await waiting;
    expect(ran).toBe(true);
  });

  it('tells when somebody was refused', async () => {
    const rival = locks.contend('x');
    const refused = service().tryAcquire('x');
    await rival.met();
    expect(await refused).toBeNull();
  });

  it('lasts as long as its block with `using`', async () => {
    {
      using rival = locks.contend('x');
      expect(locks.holder(rival.key)).toBe('somebody else');
    }
    expect(locks.held('x')).toBe(false);
  });

  it('does not end with any lease', async () => {
    const clock = manualClock();
    locks = testLocks({ clock });
    const app = services.start(locks, 'app', { wait: 1_000 });
    locks.contend('x');
    const waiting = expect(app.acquire('x')).rejects.toMatchObject({ code: 'LOCK_CONTENDED', waited: 1_000 });
    await clock.advance(3_600_000);
    await waiting;
    expect(locks.held('x')).toBe(true);
  });

  it("works under a test runner's fake timers", async () => {
    const clock = manualClock();
    locks = testLocks({ clock });
    jest.useFakeTimers();
    try {
      const rival = locks.contend('x');
      const waiting = expect(service().acquire('x')).rejects.toMatchObject({ code: 'LOCK_CONTENDED' });
      await rival.met();
      await clock.advance(5_000);
      await waiting;
    } finally {
      jest.useRealTimers();
    }
  });

  it('refuses a key that is held, and says by whom and what to do', async () => {
    const lock = await service('app').acquire('x');
    expect(() => locks.contend('x')).toThrow(/contend\("x"\): "app" holds it now.*lose\("x"\) first/);
    await lock.release();
    locks.contend('x');
    expect(() => locks.contend('x')).toThrow(/"somebody else" holds it/);
  });
});

describe('lose()', () => {
  it('tells the holder at once: held, throwIfLost(), signal and event', async () => {
    const app = service();
    const events: string[] = [];
    app.on('lost', ({ key }) => events.push(key));
    await app.withLock('x', (lock) => {
      const { signal } = lock;
      locks.lose('x');
      expect([lock.held, signal.aborted, lock.remaining()]).toEqual([false, true, 0]);
      expect(signal.reason).toMatchObject({ code: 'LOCK_LOST', key: 'x' });
      expect(() => lock.throwIfLost()).toThrow(/not held any more/);
    });
    expect(events).toEqual(['x']);
    expect(locks.held('x')).toBe(false);
  });

  it('wakes a body that waits for its signal, from the test', async () => {
    const app = service();
    const running = app.withLock('x', { onLost: 'throw' }, async ({ signal }) => once(signal, 'abort'));
    while (!locks.held('x')) await Promise.resolve();
    await new Promise(setImmediate);
    locks.lose('x');
    await expect(running).rejects.toMatchObject({ code: 'LOCK_LOST' });
  });

  it('lets the next in the queue have the key, or a rival', async () => {
    const [a, b] = [service('a'), service('b')];
    const first = await a.acquire('x');
    const second = b.acquire('x');
    await new Promise(setImmediate);
    locks.lose('x');
    expect([first.held, (await second).held, locks.holder('x')]).toEqual([false, true, 'b']);
    locks.lose('x');
    locks.contend('x');
    expect([(await second).held, await (await second).release(), locks.holder('x')]).toEqual([
      false,
      false,
      'somebody else',
    ]);
  });

  it('refuses where the code under test does not hold the key', async () => {
    expect(() => locks.lose('x')).toThrow(/lose\("x"\): nobody holds it now/);
    await service().withLock('x', () => undefined);
    expect(() => locks.lose('x')).toThrow(/nobody holds it now/);
    locks.contend('x');
    expect(() => locks.lose('x')).toThrow(/"somebody else" holds it/);
  });
});

it('reset() ends what a test has begun', async () => {
  const app = service();
  await app.withLock('x', () => undefined);
  locks.contend('x');
  locks.unavailable();
  locks.reset();
  expect([locks.held('x'), locks.taken]).toEqual([false, []]);
  expect(await app.withLock('x', () => 'ran')).toBe('ran');
});

it('claims the guarantees that code under test asks for', async () => {
  locks = testLocks({ guarantees: { reach: 'network', survivesFailover: true } });
  const app = service();
  expect(app.guarantees()).toMatchObject({ reach: 'network', survivesFailover: true, fencing: 'global' });
  expect(await app.withLock('x', { guarantee: 'correctness' }, () => 'ran')).toBe('ran');
});

it('refuses a misspelt option', () => {
  expect(() => testLocks({ clok: manualClock() } as never)).toThrow(/testLocks\(\): there is no option "clok"/);
  expect(() => locks.unavailable({ rety: true } as never)).toThrow(/unavailable\(\): there is no option "rety"/);
  expect(() => memoryStore({ clok: manualClock() } as never)).toThrow(/memoryStore: there is no option "clok"/);
});

it('refuses a rival without a key', () => {
  for (const key of ['', 5, ['x', 'y']]) expect(() => locks.contend(key as never)).toThrow(/contend\(\)/);
});

it('frees with reset() what minHold keeps', async () => {
  const first = service('a');
  expect(await first.withLock('job', { minHold: '1m' }, () => 'ran')).toBe('ran');
  expect(locks.held('job')).toBe(true);
  locks.reset();
  expect(locks.held('job')).toBe(false);
  expect(await service('b').withLock('job', { wait: 0 }, () => 'ran')).toBe('ran');
});
