import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { manualClock, testLocks, type TestLocks } from '../../../lib/testing/index.js';
import { TestServices } from '../../support/test-services.js';

let locks: TestLocks;
const services = new TestServices();
const service = (instance?: string) => services.start(locks, instance);

beforeEach(() => {
  locks = testLocks();
});

afterEach(() => services.close());

describe('unavailable()', () => {
  it('fails a call at once, waiting or not, and says why', async () => {
    const app = service();
    locks.contend('x');
    const waiting = app.acquire('x');
    await new Promise(setImmediate);
    locks.unavailable();
    await expect(waiting).rejects.toMatchObject({
      code: 'LOCK_UNAVAILABLE',
      message: expect.stringContaining('the test has made the store unavailable'),
    });
    for (const wait of [0, 5_000]) {
      await expect(app.acquire('y', { wait })).rejects.toMatchObject({ code: 'LOCK_UNAVAILABLE' });
    }
    await expect(app.withLock('y', { wait: 0, onContended: 'skip' }, () => 'ran')).rejects.toThrow(/unavailable/);
    await expect(app.inspect('y')).rejects.toMatchObject({ code: 'LOCK_UNAVAILABLE' });
    locks.available();
    expect(await app.withLock('y', () => 'ran')).toBe('ran');
  });

  it('lets a call wait for the store with `retry`', async () => {
    const clock = manualClock();
    locks = testLocks({ clock });
    const app = service();
    locks.unavailable({ retry: true });
    const [early, late] = [app.acquire('x', { wait: 1_000 }), app.acquire('y', { wait: 10_000 })];
    const failure = expect(early).rejects.toMatchObject({ code: 'LOCK_UNAVAILABLE' });
    await clock.advance(2_000);
    await failure;
    locks.available();
    await clock.advance(2_000);
    expect((await late).held).toBe(true);
  });

  it('ends a lock that cannot be renewed when its time is up', async () => {
    const clock = manualClock();
    locks = testLocks({ clock });
    const app = service();
    const events: string[] = [];
    for (const name of ['renewalFailed', 'lost'] as const) app.on(name, () => events.push(name));
    const lock = await app.acquire('x', { ttl: 10_000 });
    locks.unavailable();
    await clock.advance(9_000);
    expect([lock.held, events.includes('renewalFailed'), events.includes('lost')]).toEqual([true, true, false]);
    await clock.advance(1_000);
    expect([lock.held, events.at(-1)]).toEqual([false, 'lost']);
  });

  it('does not lose a release: the key is free when the store is back', async () => {
    const clock = manualClock();
    locks = testLocks({ clock });
    const lock = await service().acquire('x', { ttl: 60_000 });
    locks.unavailable();
    expect(await lock.release()).toBe(false);
    await clock.advance(5_000);
    expect(locks.held('x')).toBe(true);
    locks.available();
    await clock.advance(5_000);
    expect(locks.held('x')).toBe(false);
  });

  it('is a start-up error', async () => {
    locks.unavailable();
    service();
    await expect(services.engines[0]?.open()).rejects.toThrow(/made the store unavailable/);
  });
});
