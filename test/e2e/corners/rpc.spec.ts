import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { Catch, Controller, Inject, Injectable, UseFilters, type ExceptionFilter } from '@nestjs/common';
import { APP_INTERCEPTOR } from '@nestjs/core';
import {
  EventPattern,
  MessagePattern,
  Payload,
  RpcException,
  Transport,
  type MicroserviceOptions,
} from '@nestjs/microservices';
import { Test } from '@nestjs/testing';
import { setTimeout as sleep } from 'node:timers/promises';
import { firstValueFrom, interval, lastValueFrom, take, tap, throwError, toArray, type Observable } from 'rxjs';
import {
  DistributedLock,
  LockContendedError,
  LockInterceptor,
  LockService,
  type LockModuleOptions,
} from '../../../lib/index.js';
import { memoryStore } from '../../../lib/stores/memory/index.js';
import { freePort, RedisServer } from '../../support/redis-server.js';
import { clientOf, type Client } from './rpc-client.js';
import { ErrorLog, Gauge, keysOf, lockModule, until } from './support.js';

@Injectable()
@Catch(LockContendedError)
class Busy implements ExceptionFilter {
  catch({ key, holder }: LockContendedError): Observable<never> {
    return throwError(() => ({ busy: key, holder }));
  }
}

const events = new Gauge();

@Controller()
class Orders {
  readonly gauge = new Gauge();
  @Inject(LockService) private readonly locks!: LockService;

  @MessagePattern('pay')
  @DistributedLock('order:<order.id>', { wait: '2s' })
  async pay(@Payload() order: { id: number }): Promise<object> {
    await this.gauge.run();
    return { id: order.id, lock: this.locks.current()!.key };
  }

  @DistributedLock('quick', { wait: 20 })
  @MessagePattern('quick')
  async quick(): Promise<string> {
    return 'ran';
  }

  @MessagePattern('by hand')
  async byHand(): Promise<string> {
    return this.locks.withLock('quick', { wait: 20 }, () => 'ran');
  }

  @UseFilters(Busy)
  @MessagePattern('filtered')
  @DistributedLock('quick', { wait: 20 })
  async filtered(): Promise<string> {
    return 'ran';
  }

  @MessagePattern('failing')
  @DistributedLock('failing')
  async failing(): Promise<void> {
    throw new RpcException({ code: 404, message: 'no such order' });
  }

  @MessagePattern('stream')
  @DistributedLock('stream')
  stream(): Observable<number> {
    return interval(20).pipe(take(3));
  }

  @EventPattern('paid')
  @DistributedLock('paid:<0.id>', { wait: 0, onContended: 'skip', minHold: 300 })
  async paid(@Payload() _order: { id: number }): Promise<void> {
    await events.run();
  }

  @EventPattern('refused')
  @DistributedLock('quick', { wait: 20 })
  async refused(@Payload() _order: object): Promise<void> {
    await events.run();
  }
}

let redis: RedisServer;
beforeAll(async () => {
  redis = await RedisServer.start();
});
afterAll(() => redis.stop());

const tcp = async (): Promise<MicroserviceOptions> => ({
  transport: Transport.TCP,
  options: { host: '127.0.0.1', port: await freePort() },
});
const overRedis = async (): Promise<MicroserviceOptions> => ({
  transport: Transport.REDIS,
  options: { host: '127.0.0.1', port: redis.port },
});

const log = new ErrorLog();

async function serve(transport: MicroserviceOptions, options: Partial<LockModuleOptions> = {}) {
  const module = await Test.createTestingModule({
    imports: [lockModule(options)],
    controllers: [Orders],
    providers: [{ provide: APP_INTERCEPTOR, useExisting: LockInterceptor }],
  })
    .setLogger(log)
    .compile();
  const app = module.createNestMicroservice<MicroserviceOptions>({ ...transport, logger: log });
  await app.listen();
  return app;
}

describe.each([
  ['TCP', tcp],
  ['Redis', overRedis],
])('microservice handlers over %s', (_, makeTransport) => {
  let transport: MicroserviceOptions;
  let app: Awaited<ReturnType<typeof serve>>;
  let client: Client;
  let locks: LockService;

  async function start(options?: Partial<LockModuleOptions>): Promise<void> {
    transport = await makeTransport();
    app = await serve(transport, options);
    client = clientOf(transport);
    await client.connect();
    locks = app.get(LockService);
    log.errors.length = 0;
    events.runs = 0;
  }

  const stop = async () => {
    await client.close();
    await app.close();
  };

  beforeEach(() => start());
  afterEach(stop);

  const ask = (pattern: string, data: object = {}) => firstValueFrom(client.send<unknown>(pattern, data));
  const locked = { status: 'error', code: 'LOCK_CONTENDED', message: 'Locked', retryAfter: 1 };

  it('runs a request under the lock that its payload names, one at a time', async () => {
    const answers = await Promise.all([7, 7, 7].map((id) => ask('pay', { id })));
    expect(answers).toEqual([7, 7, 7].map((id) => ({ id, lock: 'order:7' })));
    const { gauge } = app.get(Orders);
    expect([gauge.runs, gauge.most]).toEqual([3, 1]);
    expect(await keysOf(app).free('order:7')).toBe(true);
  });

  it.each(['quick', 'by hand'])('answers "%s" with an error that has our code and no key', async (pattern) => {
    const held = await locks.acquire('quick');
    await expect(ask(pattern)).rejects.toEqual(locked);
    expect(log.errors).toEqual([]);
    await held.release();
    expect(await ask(pattern)).toBe('ran');
  });

  it('logs a mistake and keeps it from the client', async () => {
    await expect(ask('pay', {})).rejects.toEqual({
      status: 'error',
      code: 'LOCK_KEY',
      message: 'Internal Server Error',
    });
    expect(log.errors).toMatchObject([{ code: 'LOCK_KEY' }]);
  });

  it("leaves the body's own exception alone, and an own filter its choice", async () => {
    await expect(ask('failing')).rejects.toMatchObject({ code: 404, message: 'no such order' });
    await using _held = await locks.acquire('quick');
    await expect(ask('filtered')).rejects.toMatchObject({ busy: 'quick', holder: 'holder-1' });
  });

  it('holds the lock of a stream until it has completed', async () => {
    const held: Promise<boolean>[] = [];
    const { free } = keysOf(app);
    const stream = client.send<number>('stream', {}).pipe(
      tap(() => held.push(free('stream').then((is) => !is))),
      toArray(),
    );
    expect(await lastValueFrom(stream)).toEqual([0, 1, 2]);
    // The last value may travel with the end of the stream.
    expect((await Promise.all(held)).slice(0, 2)).toEqual([true, true]);
    expect(await free('stream')).toBe(true);
  });

  it('runs an event once while its key is taken, and skips the others without a word', async () => {
    for (const id of [7, 7, 8]) client.emit('paid', { id });
    await until(() => events.runs === 2);
    await sleep(50);
    expect([events.runs, log.errors]).toEqual([2, []]);
  });

  it('logs an event that could not have its lock, since nobody else hears of it', async () => {
    const held = await locks.acquire('quick');
    client.emit('refused', {});
    await until(() => log.errors.length === 1);
    expect(log.errors).toMatchObject([{ name: 'LockContendedError', key: 'quick' }]);
    await held.release();
    client.emit('refused', {});
    await until(() => events.runs === 1);
  });

  it('raises what the module says instead', async () => {
    await stop();
    await start({ errors: ({ code }, context) => new RpcException(`${context.getType()} ${code}`) });
    await using _held = await locks.acquire('quick');
    await expect(ask('quick')).rejects.toEqual({ status: 'error', message: 'rpc LOCK_CONTENDED' });
  });
});

it('runs an event that Redis brings to two instances on one of them', async () => {
  const [transport, store] = [await overRedis(), memoryStore()];
  const apps = [await serve(transport, { store }), await serve(transport, { store })];
  const client = clientOf(transport);
  await client.connect();
  events.runs = 0;
  client.emit('paid', { id: 7 });
  await until(() => events.runs === 1);
  await sleep(100);
  expect(events.runs).toBe(1);
  await client.close();
  await Promise.all(apps.map((app) => app.close()));
});
