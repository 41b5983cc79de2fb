import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { Catch, Inject, Injectable, ParseIntPipe, UseFilters, type INestApplication } from '@nestjs/common';
import { APP_INTERCEPTOR } from '@nestjs/core';
import { IoAdapter } from '@nestjs/platform-socket.io';
import { Test } from '@nestjs/testing';
import {
  BaseWsExceptionFilter,
  MessageBody,
  SubscribeMessage,
  WebSocketGateway,
  WsException,
} from '@nestjs/websockets';
import { once } from 'node:events';
import { interval, map, take, type Observable } from 'rxjs';
import { io, type Socket } from 'socket.io-client';
import {
  DistributedLock,
  LockContendedError,
  LockInterceptor,
  LockService,
  type LockModuleOptions,
} from '../../../lib/index.js';
import { ErrorLog, Gauge, keysOf, lockModule, until } from './support.js';

@Injectable()
@Catch(LockContendedError)
class Busy extends BaseWsExceptionFilter<LockContendedError> {
  override catch({ key, holder }: LockContendedError, host: Parameters<BaseWsExceptionFilter['catch']>[1]): void {
    host.switchToWs().getClient<{ emit: (event: string, data: unknown) => void }>().emit('busy', { key, holder });
  }
}

@WebSocketGateway()
class Orders {
  readonly gauge = new Gauge();
  readonly heard: string[] = [];
  @Inject(LockService) private readonly locks!: LockService;

  @SubscribeMessage('pay')
  @DistributedLock('order:<id>', { wait: '2s' })
  async pay(@MessageBody('id', ParseIntPipe) id: number): Promise<object> {
    await this.gauge.run();
    return { id, lock: this.locks.current()!.key };
  }

  @DistributedLock('quick', { wait: 20 })
  @SubscribeMessage('quick')
  async quick(): Promise<string> {
    return 'ran';
  }

  @SubscribeMessage('by hand')
  async byHand(): Promise<string> {
    return this.locks.withLock('quick', { wait: 20 }, () => 'ran');
  }

  @UseFilters(Busy)
  @SubscribeMessage('filtered')
  @DistributedLock('quick', { wait: 20 })
  async filtered(): Promise<string> {
    return 'ran';
  }

  @SubscribeMessage('failing')
  @DistributedLock('failing')
  async failing(): Promise<void> {
    throw new WsException('no such order');
  }

  @SubscribeMessage('mistake')
  @DistributedLock('user:<ctx.data.user>')
  async mistake(): Promise<void> {}

  @SubscribeMessage('stream')
  @DistributedLock('stream')
  stream(): Observable<object> {
    return interval(20).pipe(
      take(3),
      map((data) => ({ event: 'tick', data })),
    );
  }

  @SubscribeMessage('work')
  @DistributedLock('work', { abortOnDisconnect: true })
  async work(): Promise<void> {
    const { signal } = this.locks.current()!;
    this.heard.push('began');
    await once(signal, 'abort');
    this.heard.push((signal.reason as Error).message);
  }
}

describe('WebSocket gateways', () => {
  let app: INestApplication;
  let locks: LockService;
  let client: Socket;
  const log = new ErrorLog();

  async function start(options: Partial<LockModuleOptions> = {}): Promise<void> {
    const module = await Test.createTestingModule({
      imports: [lockModule(options)],
      providers: [Orders, { provide: APP_INTERCEPTOR, useExisting: LockInterceptor }],
    })
      .setLogger(log)
      .compile();
    app = module.createNestApplication({ logger: log });
    app.useWebSocketAdapter(new IoAdapter(app));
    await app.listen(0, '127.0.0.1');
    locks = app.get(LockService);
    log.errors.length = 0;
    client = io(await app.getUrl(), { transports: ['websocket'], reconnection: false });
    await new Promise<void>((resolve) => client.once('connect', () => resolve()));
  }

  const stop = async () => {
    client.disconnect();
    await app.close();
  };

  beforeEach(() => start());
  afterEach(stop);

  const next = (event: string) =>
    new Promise<unknown>((resolve) => client.once(event, (data: unknown) => resolve(data)));
  const ask = (event: string, data: object = {}) => client.timeout(3000).emitWithAck(event, data) as Promise<unknown>;

  it('runs a message handler under the lock that its payload names, one at a time', async () => {
    const answers = await Promise.all(['7', '007', '7'].map((id) => ask('pay', { id })));
    expect(answers).toEqual([7, 7, 7].map((id) => ({ id, lock: 'order:7' })));
    const { gauge } = app.get(Orders);
    expect([gauge.runs, gauge.most]).toEqual([3, 1]);
    expect(await keysOf(app).free('order:7')).toBe(true);
  });

  it.each(['quick', 'by hand'])('answers "%s" with an exception event that has our code and no key', async (event) => {
    const held = await locks.acquire('quick');
    const exception = next('exception');
    client.emit(event, {});
    expect(await exception).toEqual({ status: 'error', code: 'LOCK_CONTENDED', message: 'Locked', retryAfter: 1 });
    expect(log.errors).toEqual([]);
    await held.release();
    expect(await ask(event)).toBe('ran');
  });

  it("leaves the body's own exception alone, and an own filter its choice", async () => {
    const exception = next('exception');
    client.emit('failing', {});
    expect(await exception).toMatchObject({ status: 'error', message: 'no such order' });
    await using _held = await locks.acquire('quick');
    const busy = next('busy');
    client.emit('filtered', {});
    expect(await busy).toEqual({ key: 'quick', holder: 'holder-1' });
  });

  it('logs a mistake and keeps it from the client', async () => {
    const exception = next('exception');
    client.emit('mistake', {});
    expect(await exception).toEqual({ status: 'error', code: 'LOCK_KEY', message: 'Internal Server Error' });
    expect(log.errors).toMatchObject([{ code: 'LOCK_KEY' }]);
  });

  it('holds the lock of a stream until it has ended', async () => {
    const { free } = keysOf(app);
    const ticks: unknown[] = [];
    client.on('tick', (tick: unknown) => ticks.push(tick));
    client.emit('stream', {});
    await until(() => ticks.length > 0);
    expect(await free('stream')).toBe(false);
    await until(() => free('stream'));
    await until(() => ticks.length === 3);
  });

  it('gives the lock of a stream back when its client leaves', async () => {
    const { free } = keysOf(app);
    client.emit('stream', {});
    await until(async () => !(await free('stream')));
    client.disconnect();
    await until(() => free('stream'));
  });

  it('ends the wait of a client that has left', async () => {
    const { waiting } = keysOf(app);
    await using _held = await locks.acquire('order:7');
    client.emit('pay', { id: 7 });
    await until(async () => (await waiting('order:7')) === 1);
    const before = Date.now();
    client.disconnect();
    await until(async () => (await waiting('order:7')) === 0);
    expect(Date.now() - before).toBeLessThan(1000);
    expect(app.get(Orders).gauge.runs).toBe(0);
  });

  it('tells a body that asked for it when its client has left', async () => {
    const { heard } = app.get(Orders);
    client.emit('work', {});
    await until(() => heard.length === 1);
    expect(await keysOf(app).free('work')).toBe(false);
    client.disconnect();
    await until(() => heard.length === 2);
    expect(heard[1]).toMatch(/client disconnected/);
    await until(() => keysOf(app).free('work'));
  });

  it('raises what the module says instead', async () => {
    await stop();
    await start({ errors: ({ code }, context) => new WsException(`${context.getType()} ${code}`) });
    await using _held = await locks.acquire('quick');
    for (const event of ['quick', 'by hand']) {
      const exception = next('exception');
      client.emit(event, {});
      expect(await exception).toMatchObject({ status: 'error', message: 'ws LOCK_CONTENDED' });
    }
  });
});
