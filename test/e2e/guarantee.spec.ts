import { describe, expect, it } from '@jest/globals';
import { Injectable, Module } from '@nestjs/common';
import { Test } from '@nestjs/testing';
import { DistributedLock, LockModule, LockService, type LockStore, type StoreGuarantees } from '../../lib/index.js';
import { memoryStore } from '../../lib/stores/memory/index.js';
import { redisStore } from '../../lib/stores/redis/index.js';
import { sqliteStore } from '../../lib/stores/sqlite/index.js';
import { silent } from '../support/silent-logger.js';

/** A store that promises more than it keeps. */
function promising(promises: Partial<StoreGuarantees>): LockStore {
  const store = memoryStore();
  const guarantees = { ...store.guarantees, reach: 'network', survivesFailover: true, ...promises } as const;
  return Object.defineProperty(store, 'guarantees', { value: guarantees });
}

const start = (...imports: NonNullable<Parameters<typeof Test.createTestingModule>[0]['imports']>) =>
  Test.createTestingModule({ imports })
    .setLogger(silent)
    .compile()
    .then((app) => app.init());

describe('guarantee: correctness', () => {
  it.each<[string, LockStore, RegExp]>([
    ['memory', memoryStore(), /"default" \(memory\).*nobody outside of this process/],
    ['sqlite', sqliteStore({ filename: 'never-opened.db' }), /one host only/],
    ['redis', redisStore({ url: 'redis://localhost' }), /a failover may forget a lock.*etcdStore\(\).*fencing token/],
    ['a quorum without tokens', promising({ fencing: 'none' }), /no fencing tokens/],
  ])('is refused at start of %s, with the reason and the choices', async (_, store, message) => {
    const module = LockModule.forRoot({ store, guarantee: 'correctness', lazyConnect: true });
    await expect(start(module)).rejects.toMatchObject({
      code: 'LOCK_OPTIONS',
      message: expect.stringMatching(message),
    });
  });

  it('is refused at start where a method asks for it', async () => {
    @Injectable()
    class Payouts {
      @DistributedLock('payout', { guarantee: 'correctness', store: 'jobs' })
      async pay(): Promise<void> {}
    }
    @Module({ providers: [Payouts] })
    class AppModule {}
    const stores = { default: promising({}), jobs: memoryStore() };
    await expect(start(LockModule.forRoot({ stores }), AppModule)).rejects.toThrow(
      /^@DistributedLock\('payout'\) on Payouts\.pay: guarantee is 'correctness', which the store "jobs" \(memory\)/,
    );
  });

  it('is refused where the default store could give it, but a method names one that cannot', async () => {
    @Injectable()
    class Payouts {
      @DistributedLock('payout', { store: 'jobs' })
      async pay(): Promise<void> {}
    }
    @Module({ providers: [Payouts] })
    class AppModule {}
    const stores = { default: promising({}), jobs: memoryStore() };
    await expect(start(LockModule.forRoot({ stores, guarantee: 'correctness' }), AppModule)).rejects.toThrow(/"jobs"/);
  });

  it('is given by a store that survives a failover, asked of the module or of a call', async () => {
    const stores = { default: promising({}), jobs: memoryStore() };
    const app = await start(LockModule.forRoot({ stores, guarantee: 'correctness' }));
    const locks = app.get(LockService);
    expect(await locks.withLock('k', () => 'ran')).toBe('ran');
    await expect(locks.withLock('k', { store: 'jobs' }, () => 'ran')).rejects.toMatchObject({ code: 'LOCK_OPTIONS' });
    expect(await locks.withLock('k', { store: 'jobs', guarantee: 'efficiency' }, () => 'ran')).toBe('ran');
    // Looking needs no guarantee.
    expect(await locks.inspect('k', { store: 'jobs' })).toBeUndefined();
    await app.close();
  });

  it('asks nothing where locking is switched off, as in tests', async () => {
    @Injectable()
    class Payouts {
      @DistributedLock('payout', { guarantee: 'correctness' })
      async pay(): Promise<string> {
        return 'paid';
      }
    }
    @Module({ providers: [Payouts] })
    class AppModule {}
    const app = await start(LockModule.forRoot({ store: memoryStore(), enabled: false }), AppModule);
    expect(await app.get(Payouts).pay()).toBe('paid');
    await app.close();
  });

  it('must be one of two words', async () => {
    const module = LockModule.forRoot({ store: memoryStore(), guarantee: 'safety' as never });
    await expect(start(module)).rejects.toThrow(/guarantee is 'safety', but must be 'efficiency' or 'correctness'/);
  });
});
