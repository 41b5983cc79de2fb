import { describe, expect, it } from '@jest/globals';
import { resolveModuleOptions } from '../../../lib/lock-module.options.js';
import { parseDuration } from '../../../lib/options/index.js';
import { DEFAULT_LOCK_OPTIONS, resolveOptions } from '../../../lib/options/resolve-options.js';
import { memoryStore } from '../../../lib/stores/memory/index.js';

const store = memoryStore();

describe('a duration', () => {
  it.each([
    [5, 5],
    ['5', 5],
    ['500ms', 500],
    ['30s', 30_000],
    ['1.5h', 5_400_000],
    ['2 minutes', 120_000],
  ])('%p is %p ms', (given, ms) => {
    expect(parseDuration(given, { min: 0 }, 'ttl', 'here')).toBe(ms);
  });

  it.each([['soon'], [''], [NaN], [-1], ['-5s'], [Infinity], [null], [{}], ['1'.repeat(101)], [true]])(
    '%p is refused with its name and its place',
    (given) => {
      expect(() => parseDuration(given, { min: 0 }, 'ttl', '@DistributedLock on Orders.pay')).toThrow(
        expect.objectContaining({
          code: 'LOCK_OPTIONS',
          message: expect.stringMatching(/^@DistributedLock on Orders.pay: ttl is .* must be a duration/),
        }),
      );
    },
  );
});

describe('lock options', () => {
  const resolve = (given: object) => resolveOptions(DEFAULT_LOCK_OPTIONS, given, 'here');

  it('are independent of one another', () => {
    expect(resolve({ ttl: '5s' })).toEqual({ ...DEFAULT_LOCK_OPTIONS, ttl: 5000 });
    expect(resolve({ renew: false })).toEqual({ ...DEFAULT_LOCK_OPTIONS, renew: false });
    expect(resolve({ wait: undefined })).toEqual(DEFAULT_LOCK_OPTIONS);
  });

  it.each([
    [{ ttl: 5 }, /ttl is 5, but must be a duration from 10 ms to 365 days/],
    [{ ttl: Infinity }, /ttl/],
    [{ wait: -1 }, /wait is -1/],
    [{ ttl: 1e30 }, /ttl is 1e\+30/],
    [{ minHold: 2000, maxHold: 100 }, /minHold is 2000 ms, but must not be longer than maxHold, which is 100 ms/],
    [{ renew: 'yes' }, /renew is 'yes', but must be true or false/],
    [{ maxWaiters: 1.5 }, /maxWaiters is 1.5/],
    [{ onContended: 'ignore' }, /onContended is 'ignore', but must be 'throw', 'skip' or a function/],
    [{ onLost: 'abort' }, /onLost/],
    [{ signal: {} }, /signal is an object \(Object\), but must be an AbortSignal/],
    [{ store: '' }, /store/],
    [{ timeout: 5 }, /there is no option "timeout". There are: ttl, renew, wait/],
    [[], /the options are an array/],
  ])('%p are refused', (given, message) => {
    expect(() => resolve(given)).toThrow(message);
  });
});

describe('module options', () => {
  it('have defaults', () => {
    const resolved = resolveModuleOptions({ store });
    expect(resolved).toMatchObject({
      lazyConnect: false,
      shutdownTimeout: 10_000,
      handOff: { max: 16, time: 50 },
      instance: expect.stringMatching(/:\d+$/),
    });
    expect(resolved.defaults).toEqual({ ...DEFAULT_LOCK_OPTIONS, store: 'default' });
  });

  it('find the default store', () => {
    expect(resolveModuleOptions({ stores: { jobs: store } }).defaults.store).toBe('jobs');
    expect(resolveModuleOptions({ stores: { jobs: store, default: store } }).defaults.store).toBe('default');
    expect(resolveModuleOptions({ stores: { jobs: store, other: store }, defaultStore: 'other' }).defaults.store).toBe(
      'other',
    );
  });

  it.each<[object | undefined, RegExp]>([
    [undefined, /the options are undefined/],
    [{}, /neither store nor stores is set/],
    [{ store, stores: { a: store } }, /both store and stores are set/],
    [{ stores: {} }, /stores is empty/],
    [{ store: 'redis' }, /store is 'redis', which is no store/],
    [{ store: {} }, /no open\(\), no acquire\(\)/],
    [{ stores: { a: store, b: store } }, /which of the stores "a", "b" is the default/],
    [{ stores: { a: store }, defaultStore: 'b' }, /defaultStore is 'b', but the stores are "a"/],
    [{ store, timeout: 1 }, /there is no option "timeout"/],
    [{ store, signal: AbortSignal.abort() }, /there is no option "signal"/],
    [{ store, ttl: 'soon' }, /LockModule: ttl is 'soon'/],
    [{ store, lazyConnect: 1 }, /lazyConnect is 1/],
    [{ store, handOff: { max: 5000 } }, /handOff.max is 5000/],
    [{ store, handOff: 5 }, /handOff is 5, but must be an object/],
    [{ store, clock: Date }, /clock is .*, but must have now\(\) and after\(\)/],
    [{ store, isGlobal: true }, /isGlobal stands beside useFactory/],
    [{ store, handOff: { count: 1 } }, /there is no option "handOff.count"/],
    [{ store, instance: '' }, /instance is ''/],
    [{ store, shutdownTimeout: Infinity }, /shutdownTimeout/],
  ])('%p are refused', (given, message) => {
    expect(() => resolveModuleOptions(given as never)).toThrow(message);
  });
});
