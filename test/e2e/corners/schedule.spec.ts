import { afterEach, describe, expect, it } from '@jest/globals';
import { Inject, Injectable, type Type } from '@nestjs/common';
import { Cron, CronExpression, Interval, ScheduleModule, Timeout } from '@nestjs/schedule';
import { Test, type TestingModule } from '@nestjs/testing';
import { setTimeout as sleep } from 'node:timers/promises';
import { DistributedLock, LockService, type LockStore } from '../../../lib/index.js';
import { memoryStore } from '../../../lib/stores/memory/index.js';
import { Gauge, lockModule, until } from './support.js';

const apps: TestingModule[] = [];
/** All that is said, on whichever level. */
const said: unknown[] = [];
const say = (message: unknown) => void said.push(message);

/** An instance of the application; several on one store stand for several processes. */
async function start(job: Type, store: LockStore): Promise<TestingModule> {
  const app = await Test.createTestingModule({
    imports: [lockModule({ store }), ScheduleModule.forRoot()],
    providers: [job],
  })
    .setLogger({ log: () => undefined, warn: say, error: say })
    .compile();
  apps.push(app);
  await app.init();
  return app;
}

afterEach(async () => {
  await Promise.all(apps.splice(0).map((app) => app.close()));
  said.length = 0;
});

describe('@nestjs/schedule', () => {
  it('runs a cron job on one of three instances each time, without a word from the others', async () => {
    const runs: number[] = [];
    @Injectable()
    class Job {
      @DistributedLock('report', { wait: 0, onContended: 'skip', minHold: 500 })
      @Cron(CronExpression.EVERY_SECOND)
      async report(): Promise<void> {
        runs.push(Math.round(Date.now() / 1000));
      }
    }
    const store = memoryStore();
    await Promise.all([start(Job, store), start(Job, store), start(Job, store)]);
    await until(() => runs.length >= 2);
    await sleep(200);
    expect(new Set(runs).size).toBe(runs.length);
    expect(said).toEqual([]);
  });

  it('skips the turns of an interval that come while the last one runs', async () => {
    const gauge = new Gauge();
    @Injectable()
    class Job {
      @Interval(20)
      @DistributedLock('poll', { wait: 0, onContended: 'skip' })
      async poll(): Promise<void> {
        await gauge.run(90);
      }
    }
    await start(Job, memoryStore());
    await until(() => gauge.runs >= 3);
    expect([gauge.most, said]).toEqual([1, []]);
  });

  it('runs a timeout under its lock, and leaves an error to the log of the scheduler', async () => {
    const keys: (string | undefined)[] = [];
    @Injectable()
    class Job {
      @Inject(LockService) private readonly locks!: LockService;
      @DistributedLock('once')
      @Timeout(10)
      async once(): Promise<void> {
        keys.push(this.locks.current()?.key);
      }
      @Timeout(20)
      @DistributedLock('taken', { wait: 0 })
      async refused(): Promise<void> {
        keys.push('never');
      }
    }
    const store = memoryStore();
    const holder = await start(class {}, store);
    await using _held = await holder.get(LockService).acquire('taken');
    await start(Job, store);
    await until(() => keys.length === 1 && said.length === 1);
    expect([keys, said]).toMatchObject([['once'], [{ code: 'LOCK_CONTENDED', key: 'taken' }]]);
  });
});
