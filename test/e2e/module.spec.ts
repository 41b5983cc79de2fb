import { describe, expect, it } from '@jest/globals';
import { Injectable, Module } from '@nestjs/common';
import { Test } from '@nestjs/testing';
import { AsyncResource } from 'node:async_hooks';
import { setTimeout as sleep } from 'node:timers/promises';
import { inspect } from 'node:util';
import {
  DistributedLock,
  LockModule,
  LockOptionsError,
  LockService,
  type LockModuleOptions,
  type LockStore,
} from '../../lib/index.js';
import { memoryStore } from '../../lib/stores/memory/index.js';
import { redisStore } from '../../lib/stores/redis/index.js';
import { sqliteStore } from '../../lib/stores/sqlite/index.js';
import { manualClock } from '../../lib/testing/index.js';
import { silent } from '../support/silent-logger.js';

const compile = (...imports: (ReturnType<typeof LockModule.forRoot> | (new () => unknown))[]) =>
  Test.createTestingModule({ imports }).setLogger(silent).compile();

const failure = async (promise: Promise<unknown>): Promise<Error> =>
  promise.then(
    () => fail(),
    (error: unknown) => error as Error,
  );
const fail = (): never => {
  throw new Error('it should have failed');
};

/** A store that counts how often it is opened and closed. */
function counting(open: () => Promise<void> = async () => undefined) {
  const count = { opened: 0, closed: 0 };
  const store: LockStore = Object.assign(memoryStore(), {
    open: async () => {
      count.opened += 1;
      await open();
    },
    close: async () => {
      count.closed += 1;
    },
  });
  return { store, count };
}

@Injectable()
class LockConfig {
  createLockOptions(): LockModuleOptions {
    return { store: memoryStore(), instance: 'configured' };
  }
}

@Module({ providers: [LockConfig], exports: [LockConfig] })
class ConfigModule {}

describe('LockModule', () => {
  it.each([
    ['forRoot', LockModule.forRoot(new LockConfig().createLockOptions())],
    ['useFactory', LockModule.forRootAsync({ useFactory: () => new LockConfig().createLockOptions() })],
    [
      'useFactory with injections',
      LockModule.forRootAsync({
        imports: [ConfigModule],
        inject: [LockConfig],
        useFactory: async (config: LockConfig) => config.createLockOptions(),
      }),
    ],
    ['useClass', LockModule.forRootAsync({ useClass: LockConfig })],
    ['useExisting', LockModule.forRootAsync({ imports: [ConfigModule], useExisting: LockConfig })],
  ])('is configured by %s', async (_, module) => {
    const app = await compile(module);
    const locks = app.get(LockService);
    await locks.withLock('k', async () => {
      expect(await locks.inspect('k')).toMatchObject({ key: 'k', store: 'default', holder: 'configured' });
    });
    await app.close();
  });

  it('opens its stores before anything that uses them starts, and closes them when the application does', async () => {
    const [first, second] = [counting(), counting()];
    const app = await compile(LockModule.forRoot({ stores: { default: first.store, jobs: second.store } }));
    expect([first.count, second.count]).toEqual([
      { opened: 1, closed: 0 },
      { opened: 1, closed: 0 },
    ]);
    await app.close();
    expect([first.count, second.count]).toEqual([
      { opened: 1, closed: 1 },
      { opened: 1, closed: 1 },
    ]);
  });

  it('keeps the keys of several stores apart', async () => {
    const app = await compile(LockModule.forRoot({ stores: { default: memoryStore(), jobs: memoryStore() } }));
    const locks = app.get(LockService);
    await locks.withLock('k', () => locks.withLock('k', { store: 'jobs', wait: 0 }, async () => undefined));
    await expect(locks.acquire('k', { store: 'other' })).rejects.toThrow(
      /no store "other"; the module has "default", "jobs"/,
    );
    await app.close();
  });

  it('fails at bootstrap when a store cannot be opened, and closes those that were', async () => {
    const good = counting();
    const bad = counting(() => Promise.reject(new Error('no route to host')));
    await expect(compile(LockModule.forRoot({ stores: { default: good.store, jobs: bad.store } }))).rejects.toThrow(
      'no route to host',
    );
    expect(good.count).toEqual({ opened: 1, closed: 1 });
  });

  it('opens a store at its first use with lazyConnect, and again after it failed', async () => {
    let reachable = false;
    const { store, count } = counting(() =>
      reachable ? Promise.resolve() : Promise.reject(new Error('no route to host')),
    );
    const app = await compile(LockModule.forRoot({ store, lazyConnect: true, wait: 50 }));
    const locks = app.get(LockService);
    expect(count.opened).toBe(0);
    await expect(locks.acquire('k')).rejects.toMatchObject({
      code: 'LOCK_UNAVAILABLE',
      message: expect.stringContaining('no route to host'),
    });
    await expect(locks.inspect('k')).rejects.toMatchObject({ code: 'LOCK_UNAVAILABLE' });
    reachable = true;
    await expect(locks.withLock('k', async () => 'ran')).resolves.toBe('ran');
    await app.close();
  });

  it('ends a wait at once when trying again cannot help', async () => {
    const { store } = counting(() => Promise.reject(new LockOptionsError('the driver is missing')));
    const app = await compile(LockModule.forRoot({ store, lazyConnect: true, wait: '20s' }));
    await expect(app.get(LockService).acquire('k')).rejects.toMatchObject({
      code: 'LOCK_UNAVAILABLE',
      message: expect.stringContaining('the driver is missing'),
    });
    await app.close();
  });

  it.each<[string, () => LockStore, RegExp]>([
    [
      'a Redis that is not there',
      () => redisStore({ url: 'redis://me:s3cret@127.0.0.1:1', connectTimeout: 300 }),
      /127\.0\.0\.1:1/,
    ],
    ['a directory that is not there', () => sqliteStore({ filename: '/nowhere/at/all/locks.db' }), /nowhere/],
  ])('says at bootstrap what is wrong with %s', async (_, store, message) => {
    const error = await failure(compile(LockModule.forRoot({ store: store() })));
    expect(error).toMatchObject({ code: 'LOCK_UNAVAILABLE', message: expect.stringMatching(message) });
    expect(inspect(error, { depth: 10, showHidden: true })).not.toContain('s3cret');
  });

  it('refuses wrong options at bootstrap', async () => {
    await expect(compile(LockModule.forRoot({ store: memoryStore(), ttl: 'soon' }))).rejects.toThrow(
      /LockModule: ttl is 'soon'/,
    );
    await expect(compile(LockModule.forRootAsync({ useFactory: () => ({}) }))).rejects.toThrow(
      /neither store nor stores is set/,
    );
  });

  it('refuses a method whose options contradict those of the module at start', async () => {
    @Injectable()
    class Jobs {
      @DistributedLock('job', { minHold: '1m' })
      async run(): Promise<void> {}
    }
    const module = Test.createTestingModule({
      imports: [LockModule.forRoot({ store: memoryStore(), maxHold: '30s' })],
      providers: [Jobs],
    });
    const app = (await module.setLogger(silent).compile()).createNestApplication();
    await expect(app.init()).rejects.toThrow(
      "@DistributedLock('job') on Jobs.run: minHold is 60000 ms, but must not be longer than maxHold, which is 30000 ms.",
    );
    await app.close();
  });

  it('closes its stores where a method keeps the application from starting', async () => {
    @Injectable()
    class Jobs {
      @DistributedLock('job', { store: 'nope' })
      async run(): Promise<void> {}
    }
    const { store, count } = counting();
    const module = Test.createTestingModule({ imports: [LockModule.forRoot({ store })], providers: [Jobs] });
    const app = (await module.setLogger(silent).compile()).createNestApplication();
    await expect(app.init()).rejects.toThrow(/Jobs\.run: .*"?'?nope/);
    expect(count).toEqual({ opened: 1, closed: 1 });
  });

  it('closes in real time where the clock of a test stands still', async () => {
    const app = await compile(
      LockModule.forRoot({ store: memoryStore(), clock: manualClock(), shutdownTimeout: '50ms' }),
    );
    const lock = await app.get(LockService).acquire('never given back');
    await app.close();
    expect(lock.held).toBe(false);
  });

  it('warns once of an application that configures it twice', async () => {
    const warned: string[] = [];
    const logger = { ...silent, warn: (line: string) => void warned.push(line) };
    const start = async (...stores: LockStore[]) => {
      const imports = stores.map((store) => LockModule.forRoot({ store }));
      const app = await Test.createTestingModule({ imports }).setLogger(logger).compile();
      await app.init();
      await app.close();
    };
    await start(memoryStore());
    expect(warned).toEqual([]);
    await start(memoryStore(), memoryStore(), memoryStore());
    expect(warned).toEqual([expect.stringMatching(/configures 3 LockModules.*LockModule\.forRoot\(\{ stores/)]);
  });

  it('runs bodies without a lock when it is switched off, and says so to whoever asks for a token', async () => {
    const { store, count } = counting();
    store.acquire = () => fail();
    const app = await compile(LockModule.forRoot({ store, enabled: false }));
    const locks = app.get(LockService);
    await expect(locks.withLock('k', async (lock) => lock.held)).resolves.toBe(true);
    await expect(locks.withLock('k', async (lock) => lock.fencingToken)).rejects.toThrow(/switched off/);
    await expect(locks.withLock('k', async (lock) => locks.current() === lock)).resolves.toBe(true);
    const [first, second] = [await locks.acquire('k'), await locks.tryAcquire('k')];
    expect([first.held, second?.held]).toEqual([true, true]);
    expect(count.opened).toBe(0);
    await app.close();
  });

  it('does not let one try wait for a first connection that takes long', async () => {
    const { store } = counting(() => sleep(20_000, undefined, { ref: false }));
    const app = await compile(LockModule.forRoot({ store, lazyConnect: true }));
    const before = Date.now();
    await expect(app.get(LockService).tryAcquire('k')).rejects.toMatchObject({ code: 'LOCK_UNAVAILABLE' });
    expect(Date.now() - before).toBeLessThan(4000);
  });

  it('goes by the clock of its store where a test gives it one', async () => {
    const clock = manualClock();
    const app = await compile(LockModule.forRoot({ store: memoryStore({ clock }), clock, ttl: '10s', renew: false }));
    const locks = app.get(LockService);
    const lock = await locks.acquire('k');
    await clock.advance(9_000);
    expect([lock.held, lock.signal.aborted]).toEqual([true, false]);
    await clock.advance(1_000);
    expect([lock.held, lock.signal.aborted, await locks.inspect('k')]).toEqual([false, true, undefined]);
    await app.close();
  });

  it('tells listeners what happens, whatever they throw', async () => {
    const app = await compile(LockModule.forRoot({ store: memoryStore() }));
    const locks = app.get(LockService);
    const seen: unknown[] = [];
    locks.on('acquired', () => fail());
    locks.on('acquired', (async () => fail()) as () => void);
    locks.on('acquired', ({ key, handedOff }) => seen.push(['acquired', key, handedOff]));
    locks.on('contended', ({ key, holder }) => seen.push(['contended', key, typeof holder]));
    const stop = locks.on('released', ({ key }) => seen.push(['released', key]));
    await locks.withLock('k', () => locks.tryAcquire('other').then((lock) => lock?.release()));
    stop();
    const lock = await locks.acquire('k');
    expect(await locks.tryAcquire('k')).toBeNull();
    await lock.release();
    expect(seen).toEqual([
      ['acquired', 'k', false],
      ['acquired', 'other', false],
      ['released', 'other'],
      ['released', 'k'],
      ['acquired', 'k', false],
      ['contended', 'k', 'string'],
    ]);
    await app.close();
  });

  it('shows a body its own lock, also when it is lost, and never that of another key in its place', async () => {
    const clock = manualClock();
    const app = await compile(LockModule.forRoot({ store: memoryStore({ clock }), clock, ttl: '10s' }));
    const locks = app.get(LockService);
    let later: (() => unknown) | undefined;
    await locks.withLock('outer', () =>
      locks.withLock('inner', { renew: false }, async (lock) => {
        later = AsyncResource.bind(() => locks.current());
        await clock.advance(10_000);
        expect(lock.held).toBe(false);
        expect([locks.current()?.key, locks.current('inner')?.held, locks.current('outer')?.held]).toEqual([
          'inner',
          false,
          true,
        ]);
        expect(() => locks.current()?.throwIfLost()).toThrow(/is not held any more/);
        await locks.withLock('innermost', () => expect(locks.current('inner')?.held).toBe(false));
      }),
    );
    expect([locks.current(), later?.()]).toEqual([undefined, undefined]);
    await app.close();
  });

  it('tells of a lease that is passed on, and of its renewals', async () => {
    const clock = manualClock();
    const app = await compile(LockModule.forRoot({ store: memoryStore({ clock }), clock, ttl: '9s' }));
    const locks = app.get(LockService);
    const seen: unknown[] = [];
    for (const name of ['acquired', 'released', 'renewalFailed', 'lost'] as const)
      locks.on(name, ({ template }) => seen.push([name, template]));
    locks.on('handedOff', ({ template, handOffs }) => seen.push(['handedOff', template, handOffs]));
    locks.on('renewed', ({ template, remaining }) => seen.push(['renewed', template, Math.round(remaining / 1_000)]));
    const first = await locks.acquire('k', { template: 'first' });
    const second = locks.acquire('k', { template: 'second' });
    await first.release();
    const lock = await second;
    await clock.advance(3_000);
    await lock.extend('20s');
    await lock.release();
    expect(seen).toEqual([
      ['acquired', 'first'],
      ['released', 'first'],
      ['handedOff', 'second', 1],
      ['acquired', 'second'],
      ['renewed', 'second', 9],
      ['renewed', 'second', 20],
      ['released', 'second'],
    ]);
    await app.close();
  });
});

describe('LockService with bad input', () => {
  it.each<[string, (locks: LockService) => Promise<unknown>, string, RegExp]>([
    ['no key', (locks) => locks.acquire(undefined as never), 'LOCK_KEY', /acquire\(\): the key is undefined/],
    ['an empty key', (locks) => locks.tryAcquire(''), 'LOCK_KEY', /tryAcquire\(\): the key is ''/],
    ['half a surrogate pair', (locks) => locks.acquire('a\ud800'), 'LOCK_KEY', /surrogate/],
    ['no keys', (locks) => locks.withLock([], async () => undefined), 'LOCK_KEY', /list of keys is empty/],
    [
      'a key that is none',
      (locks) => locks.withLock(['a', 5 as never], async () => undefined),
      'LOCK_KEY',
      /the key is 5/,
    ],
    [
      'options after the body',
      (locks) => locks.withLock('k', (() => 1) as never, { wait: 0 } as never),
      'LOCK_OPTIONS',
      /before the body/,
    ],
    ['no body', (locks) => locks.withLock('k', {}, undefined as never), 'LOCK_OPTIONS', /the body is undefined/],
    ['a wrong option', (locks) => locks.acquire('k', { wait: -1 }), 'LOCK_OPTIONS', /acquire\(\): wait is -1/],
    [
      'an unknown option',
      (locks) => locks.acquire('k', { reentrant: true } as never),
      'LOCK_OPTIONS',
      /no option "reentrant"/,
    ],
    ['options that are none', (locks) => locks.acquire('k', 5 as never), 'LOCK_OPTIONS', /the options are 5/],
    [
      'a wrong duration',
      (locks) => locks.withLock('k', (lock) => lock.extend('soon')),
      'LOCK_OPTIONS',
      /extend\(\): duration is 'soon'/,
    ],
    [
      'an unknown event',
      async (locks) => locks.on('typo' as never, () => undefined),
      'LOCK_OPTIONS',
      /no event 'typo'.*acquired/,
    ],
    ['a listener that is none', async (locks) => locks.on('lost', 5 as never), 'LOCK_OPTIONS', /the listener is 5/],
    ['an unknown store', (locks) => locks.inspect('k', { store: 'x' }), 'LOCK_OPTIONS', /no store "x"/],
  ])('refuses %s', async (_, call, code, message) => {
    const app = await compile(LockModule.forRoot({ store: memoryStore() }));
    const error = await failure(Promise.resolve().then(() => call(app.get(LockService))));
    expect(error).toMatchObject({ code, message: expect.stringMatching(message) });
    await app.close();
  });
});
