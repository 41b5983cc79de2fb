import { afterEach, describe, expect, it } from '@jest/globals';
import {
  Controller,
  Get,
  Inject,
  Injectable,
  Module,
  Post,
  type DynamicModule,
  type INestApplication,
  type Type,
} from '@nestjs/common';
import { LazyModuleLoader, NestFactory } from '@nestjs/core';
import { Test } from '@nestjs/testing';
import { DistributedLock, LockModule, LockService, type LockModuleOptions } from '../../../lib/index.js';
import { memoryStore } from '../../../lib/stores/memory/index.js';
import { silent } from '../../support/silent-logger.js';
import { listen } from './platforms.js';
import { lockModule } from './support.js';

let app: INestApplication | undefined;
let url: string;

async function start(
  imports: (DynamicModule | Type)[],
  { controllers = [], providers = [] }: { controllers?: Type[]; providers?: Type[] },
): Promise<LockService> {
  const module = await Test.createTestingModule({ imports, controllers, providers }).setLogger(silent).compile();
  app = module.createNestApplication({ logger: false });
  url = await listen(app);
  return app.get(LockService);
}

afterEach(async () => {
  app?.getHttpServer().closeAllConnections();
  await app?.close();
  app = undefined;
});

const twoStores = (): Partial<LockModuleOptions> =>
  ({ store: undefined, stores: { default: memoryStore(), jobs: memoryStore() } }) as object;

@Injectable()
class Job {
  @Inject(LockService) readonly locks!: LockService;
  @DistributedLock('job', { wait: 0, store: 'jobs', onContended: 'skip' })
  async run(): Promise<string | undefined> {
    return this.locks.current()?.store;
  }
}

describe('modules that are loaded lazily', () => {
  @Module({ providers: [Job], exports: [Job] })
  class LazyModule {}

  @Controller('jobs')
  class Jobs {
    constructor(@Inject(LazyModuleLoader) private readonly loader: LazyModuleLoader) {}
    @Post()
    async run(): Promise<string | undefined> {
      return (await this.loader.load(() => LazyModule)).get(Job).run();
    }
  }

  it('lock too', async () => {
    await start([lockModule(twoStores())], { controllers: [Jobs] });
    const response = await fetch(`${url}/jobs`, { method: 'POST' });
    expect([response.status, await response.text()]).toEqual([201, 'jobs']);
  });
});

describe('two applications in one process', () => {
  it('share no lock where they share no store, and close by themselves', async () => {
    const locks = await start([lockModule(twoStores())], { providers: [Job] });
    @Module({ imports: [LockModule.forRoot(twoStores() as LockModuleOptions)], providers: [Job] })
    class Other {}
    const other = await NestFactory.createApplicationContext(Other, { logger: false });
    await using _held = await locks.acquire('job', { store: 'jobs' });
    expect(await Promise.all([app!.get(Job).run(), other.get(Job).run()])).toEqual([undefined, 'jobs']);
    await other.close();
    expect(await locks.withLock('after', () => 'ran')).toBe('ran');
  });
});

describe('a lock module that is not global', () => {
  @Controller('orders')
  class Orders {
    @Inject(LockService) private readonly locks!: LockService;
    @Get()
    @DistributedLock('orders', { wait: 20 })
    async all(): Promise<string | undefined> {
      return this.locks.current()?.key;
    }
  }

  const local = LockModule.forRoot({ store: memoryStore(), isGlobal: false });

  it('serves the modules that import it, all of them with one service', async () => {
    @Module({ imports: [local], controllers: [Orders] })
    class OrdersModule {}
    const locks = await start([local, OrdersModule], {});
    expect(await (await fetch(`${url}/orders`)).text()).toBe('orders');
    await using _held = await locks.acquire('orders');
    const response = await fetch(`${url}/orders`);
    expect([response.status, response.headers.get('retry-after')]).toEqual([423, '1']);
  });

  it('is missed at start by a module that does not', async () => {
    @Module({ controllers: [Orders] })
    class OrdersModule {}
    await expect(start([local, OrdersModule], {})).rejects.toThrow(/LockService/);
  });
});
