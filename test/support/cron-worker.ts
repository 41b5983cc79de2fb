// One of several processes with the same job: every second, on one of them.
import 'reflect-metadata';
import { ConsoleLogger, Inject, Injectable, Module } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { Cron, CronExpression, ScheduleModule, SchedulerRegistry } from '@nestjs/schedule';
import { Redis } from 'ioredis';
import { setTimeout as sleep } from 'node:timers/promises';
import { DistributedLock, LockModule, LockService } from '../../lib/index.js';
import { redisStore } from '../../lib/stores/redis/index.js';
import { answerCalls } from './answer-calls.js';
import { JOB, LAST_TICK, LINES, type CronLine, type CronReport, type CronWorkerConfig } from './cron-worker.config.js';

const config = JSON.parse(process.argv[2]!) as CronWorkerConfig;
// The scheduler goes by the wall clock, and those of a fleet differ.
const rightNow = Date.now;
Date.now = () => rightNow() + config.skew;

const redis = new Redis(config.redis);
const logs: string[] = [];

class Listening extends ConsoleLogger {
  override log(): void {}
  override debug(): void {}
  override warn(message: unknown): void {
    logs.push(`warn: ${String(message)}`);
  }
  override error(message: unknown): void {
    logs.push(`error: ${String(message)}`);
  }
}

@Injectable()
class Reports {
  @Inject(LockService) private readonly locks!: LockService;

  @Cron(CronExpression.EVERY_SECOND, { name: 'report' })
  @DistributedLock('report', { wait: 0, onContended: 'skip', minHold: JOB.minHold, ttl: JOB.ttl })
  async report(): Promise<void> {
    const at = Number(process.hrtime.bigint() / 1_000_000n);
    const tick = Math.round(Date.now() / JOB.period);
    const lock = this.locks.current()!;
    const line = (type: CronLine['type']) =>
      JSON.stringify({ type, tick, pid: process.pid, token: String(lock.fencingToken), at } satisfies CronLine);

    // Two steps, read and write, that only the lock keeps together.
    if (Number(await redis.get(LAST_TICK)) >= tick) {
      await redis.rpush(LINES, line('repeated'));
      return;
    }
    await redis.rpush(LINES, line('began'));
    await sleep(tick % 5 === 0 ? JOB.long : JOB.short);
    if (lock.held) await redis.multi().set(LAST_TICK, tick).rpush(LINES, line('done')).exec();
    else await redis.rpush(LINES, line('lost'));
  }
}

@Module({
  imports: [ScheduleModule.forRoot(), LockModule.forRoot({ store: redisStore({ url: config.redis }) })],
  providers: [Reports],
})
class AppModule {}

const app = await NestFactory.createApplicationContext(AppModule, { logger: new Listening() });
const locks = app.get(LockService);
const counts = { fired: 0, acquired: 0, contended: 0, unavailable: 0, latest: 0 };
for (const event of ['acquired', 'contended', 'unavailable'] as const) locks.on(event, () => (counts[event] += 1));
app
  .get(SchedulerRegistry)
  .getCronJob('report')
  .addCallback(() => {
    counts.fired += 1;
    counts.latest = Math.max(counts.latest, Date.now() % JOB.period);
  });

answerCalls({
  report: async (): Promise<CronReport> => ({ ...counts, logs }),
  async stop() {
    await app.close();
    await redis.quit();
  },
});
