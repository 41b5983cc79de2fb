import { afterEach, beforeEach, expect, it } from '@jest/globals';
import { Controller, Get, Inject, Param, type INestApplication } from '@nestjs/common';
import { APP_INTERCEPTOR } from '@nestjs/core';
import { MessagePattern, Payload, Transport, type TcpOptions } from '@nestjs/microservices';
import { Test } from '@nestjs/testing';
import { firstValueFrom } from 'rxjs';
import { DistributedLock, LockInterceptor, LockService } from '../../../lib/index.js';
import { freePort } from '../../support/redis-server.js';
import { silent } from '../../support/silent-logger.js';
import { listen } from './platforms.js';
import { clientOf, type Client } from './rpc-client.js';
import { Gauge, lockModule } from './support.js';

@Controller()
class Orders {
  readonly gauge = new Gauge();
  @Inject(LockService) private readonly locks!: LockService;

  @Get('orders/:id')
  @DistributedLock('order:<id>')
  async overHttp(@Param('id') id: string): Promise<string> {
    await this.gauge.run();
    return `${id} under ${this.locks.current()?.key}`;
  }

  @MessagePattern('order')
  @DistributedLock('order:<id>', { wait: 200 })
  async overTcp(@Payload() id: string): Promise<string> {
    await this.gauge.run();
    return `${id} under ${this.locks.current()?.key}`;
  }

  @Get('by-hand')
  @MessagePattern('by hand')
  async byHand(): Promise<string> {
    return this.locks.withLock('by hand', { wait: 20 }, () => 'ran');
  }
}

let app: INestApplication;
let client: Client;
let url: string;

async function start(inheritAppConfig: boolean): Promise<void> {
  const module = await Test.createTestingModule({
    imports: [lockModule()],
    controllers: [Orders],
    providers: [{ provide: APP_INTERCEPTOR, useExisting: LockInterceptor }],
  })
    .setLogger(silent)
    .compile();
  app = module.createNestApplication({ logger: false });
  const transport: TcpOptions = { transport: Transport.TCP, options: { host: '127.0.0.1', port: await freePort() } };
  app.connectMicroservice(transport, { inheritAppConfig });
  await app.startAllMicroservices();
  url = await listen(app);
  client = clientOf(transport);
}

const stop = async () => {
  await client.close();
  app.getHttpServer().closeAllConnections();
  await app.close();
};

beforeEach(() => start(false));
afterEach(stop);

const overHttp = (path: string) => fetch(`${url}/${path}`);
const overTcp = (pattern: string, data: unknown) => firstValueFrom(client.send<string>(pattern, data as object));

it('locks one key over both transports', async () => {
  const answers = await Promise.all([
    overHttp('orders/7').then((response) => response.text()),
    overTcp('order', '7'),
    overHttp('orders/7').then((response) => response.text()),
    overTcp('order', '7'),
  ]);
  expect(answers).toEqual(Array(4).fill('7 under order:7'));
  const { gauge } = app.get(Orders);
  expect([gauge.runs, gauge.most]).toEqual([4, 1]);
});

it('answers each transport in its own way', async () => {
  await using _held = await app.get(LockService).acquire('order:7');
  const locked = { status: 'error', code: 'LOCK_CONTENDED', message: 'Locked', retryAfter: 1 };
  await expect(overTcp('order', '7')).rejects.toEqual(locked);
  await using _other = await app.get(LockService).acquire('by hand');
  const response = await overHttp('by-hand');
  expect([response.status, response.headers.get('retry-after')]).toEqual([423, '1']);
});

it('answers so too for handlers without the decorator, where the microservice inherits the interceptor', async () => {
  await stop();
  await start(true);
  await using _held = await app.get(LockService).acquire('by hand');
  await expect(overTcp('by hand', {})).rejects.toMatchObject({ code: 'LOCK_CONTENDED' });
  expect((await overHttp('by-hand')).status).toBe(423);
});
