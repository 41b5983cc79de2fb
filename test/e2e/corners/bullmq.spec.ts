import { afterAll, afterEach, beforeAll, beforeEach, expect, it } from '@jest/globals';
import { BullModule, getQueueToken, Processor, WorkerHost } from '@nestjs/bullmq';
import { Inject } from '@nestjs/common';
import { Test, type TestingModule } from '@nestjs/testing';
import { QueueEvents, type Job, type Queue } from 'bullmq';
import { DistributedLock, LockService } from '../../../lib/index.js';
import { RedisServer } from '../../support/redis-server.js';
import { silent } from '../../support/silent-logger.js';
import { Gauge, keysOf, lockModule } from './support.js';

@Processor('orders', { concurrency: 5 })
class Orders extends WorkerHost {
  readonly gauge = new Gauge();
  @Inject(LockService) private readonly locks!: LockService;

  @DistributedLock('order:<job.data.id>', { wait: '2s' })
  override async process(job: Job<{ id: string }>): Promise<string> {
    await this.gauge.run();
    return `${job.data.id} under ${this.locks.current()?.key}`;
  }
}

@Processor('refused')
class Refused extends WorkerHost {
  runs = 0;

  @DistributedLock('refused', { wait: 0 })
  override async process(): Promise<string> {
    this.runs += 1;
    return 'ran';
  }
}

let redis: RedisServer;
let app: TestingModule;
const listeners: QueueEvents[] = [];

beforeAll(async () => {
  redis = await RedisServer.start();
});
afterAll(() => redis.stop());

beforeEach(async () => {
  app = await Test.createTestingModule({
    imports: [
      lockModule(),
      BullModule.forRoot({ connection: { host: '127.0.0.1', port: redis.port } }),
      BullModule.registerQueue({ name: 'orders' }, { name: 'refused' }),
    ],
    providers: [Orders, Refused],
  })
    .setLogger(silent)
    .compile();
  await app.init();
});

afterEach(async () => {
  await Promise.all(listeners.splice(0).map((events) => events.close()));
  await app.close();
});

async function open(name: string): Promise<{ queue: Queue; events: QueueEvents }> {
  const events = new QueueEvents(name, { connection: { host: '127.0.0.1', port: redis.port } });
  listeners.push(events);
  await events.waitUntilReady();
  return { queue: app.get<Queue>(getQueueToken(name)), events };
}

it('runs jobs of one key one after the other, and of different keys at once', async () => {
  const { queue, events } = await open('orders');
  const { gauge } = app.get(Orders);
  const run = async (ids: string[]) => {
    const jobs = await queue.addBulk(ids.map((id) => ({ name: 'pay', data: { id } })));
    return Promise.all(jobs.map((job) => job.waitUntilFinished(events, 5000)));
  };
  expect(await run(['7', '7', '7'])).toEqual(Array(3).fill('7 under order:7'));
  expect([gauge.runs, gauge.most]).toEqual([3, 1]);
  await run(['1', '2', '3']);
  expect(gauge.most).toBeGreaterThan(1);
  expect(await keysOf(app).free('order:7')).toBe(true);
});

it('fails a job whose key is contended, so that its attempts bring it back', async () => {
  const { queue, events } = await open('refused');
  const held = await app.get(LockService).acquire('refused');
  const failed = new Promise<string>((resolve) => {
    events.on('retries-exhausted', () => resolve('exhausted'));
    events.on('delayed', () => resolve('delayed'));
  });
  const job = await queue.add('once', {}, { attempts: 5, backoff: { type: 'fixed', delay: 50 } });
  expect(await failed).toBe('delayed');
  expect(app.get(Refused).runs).toBe(0);
  await held.release();
  expect(await job.waitUntilFinished(events, 5000)).toBe('ran');
  expect(app.get(Refused).runs).toBe(1);
});
