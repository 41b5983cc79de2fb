// The examples of docs/testing.md stand here word for word, and run: the last test compares them.
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { Controller, Inject, Injectable, Module, Param, Post } from '@nestjs/common';
import type { INestApplication } from '@nestjs/common';
import { Test, type TestingModule } from '@nestjs/testing';
import { DistributedLock, LOCK_MODULE_OPTIONS, LockModule, LockService } from 'nestjs-distributed-lock';
import { redisStore } from 'nestjs-distributed-lock/redis';
import { manualClock, testLocks } from 'nestjs-distributed-lock/testing';
import { readFileSync } from 'node:fs';
import { setImmediate } from 'node:timers/promises';
import request from 'supertest';
import { silent } from '../support/silent-logger.js';

@Injectable()
class Shop {
  async charge(_orderId: string): Promise<void> {}
  async markPaid(_orderId: string, _fencingToken: bigint): Promise<void> {}
}

@Injectable()
class OrderService {
  constructor(
    @Inject(Shop) private readonly shop: Shop,
    @Inject(LockService) private readonly locks: LockService,
  ) {}

  @DistributedLock('order:<orderId>', { wait: '5s' })
  async pay(orderId: string): Promise<void> {
    const lock = this.locks.current()!;
    await this.shop.charge(orderId);
    lock.throwIfLost();
    await this.shop.markPaid(orderId, lock.fencingToken);
  }
}

@Controller('orders')
class OrderController {
  constructor(@Inject(OrderService) private readonly orders: OrderService) {}

  @Post(':id/pay')
  pay(@Param('id') id: string): Promise<void> {
    return this.orders.pay(id);
  }
}

@Module({
  imports: [LockModule.forRoot({ store: redisStore({ url: 'redis://redis.internal:6379' }) })],
  controllers: [OrderController],
  providers: [OrderService, Shop],
})
class AppModule {}

describe('a unit test', () => {
  const locks = testLocks();
  const shop = new Shop();
  let app: TestingModule;
  let orders: OrderService;

  beforeEach(async () => {
    app = await Test.createTestingModule({
      imports: [LockModule.forRoot(locks.options)],
      providers: [OrderService, { provide: Shop, useValue: shop }],
    })
      .setLogger(silent)
      .compile();
    orders = app.get(OrderService);
  });

  afterEach(async () => {
    await app.close();
    locks.reset();
  });

  it('pays an order under its lock', async () => {
    shop.charge = async () => {
      expect(locks.held('order:7')).toBe(true);
    };
    await orders.pay('7');
    expect(locks.held('order:7')).toBe(false);
    expect(locks.taken.map(({ key }) => key)).toEqual(['order:7']);
  });

  it('gives the fencing token to the shop', async () => {
    const tokens: bigint[] = [];
    shop.charge = async () => undefined;
    shop.markPaid = async (_orderId, token) => void tokens.push(token);
    await orders.pay('7');
    expect(tokens).toEqual([locks.taken[0]?.fencingToken]);
  });

  it('waits for whoever is paying the order already', async () => {
    const rival = locks.contend('order:7');
    const paying = orders.pay('7');
    await rival.met(); // the call has found the key taken, and waits
    expect(locks.taken).toEqual([]);
    rival.release();
    await paying;
  });

  it('does not mark an order as paid once its lock is lost', async () => {
    const marked: string[] = [];
    shop.charge = async () => locks.lose('order:7');
    shop.markPaid = async (orderId) => void marked.push(orderId);
    await expect(orders.pay('7')).rejects.toMatchObject({ code: 'LOCK_LOST' });
    expect(marked).toEqual([]);
  });

  it('charges nobody while the store is out of reach', async () => {
    locks.unavailable();
    await expect(orders.pay('7')).rejects.toMatchObject({ code: 'LOCK_UNAVAILABLE' });
    expect(locks.taken).toEqual([]);
  });

  it('never lets two instances pay one order at the same time', async () => {
    const other = await Test.createTestingModule({
      imports: [LockModule.forRoot({ ...locks.options, instance: 'other:1' })],
      providers: [OrderService, { provide: Shop, useValue: shop }],
    }).compile();
    let running = 0;
    shop.charge = async () => {
      expect((running += 1)).toBe(1);
      await setImmediate();
      running -= 1;
    };
    await Promise.all([orders.pay('7'), other.get(OrderService).pay('7')]);
    expect(locks.taken.map(({ holder }) => holder)).toContain('other:1');
    await other.close();
  });
});

describe('a test with a clock', () => {
  it('gives up after five seconds, without taking them', async () => {
    const clock = manualClock();
    const locks = testLocks({ clock });
    const app = await Test.createTestingModule({
      imports: [LockModule.forRoot(locks.options)],
      providers: [OrderService, Shop],
    }).compile();
    const rival = locks.contend('order:7');
    const paying = app.get(OrderService).pay('7');
    const refused = expect(paying).rejects.toMatchObject({ code: 'LOCK_CONTENDED', holder: 'somebody else' });
    await rival.met();
    await clock.advance(5_000);
    await refused;
    await app.close();
  });
});

describe('an e2e test', () => {
  const clock = manualClock();
  const locks = testLocks({ clock });
  let app: INestApplication;

  beforeEach(async () => {
    const module = await Test.createTestingModule({ imports: [AppModule] })
      .overrideProvider(LOCK_MODULE_OPTIONS)
      .useValue(locks.options)
      .setLogger(silent)
      .compile();
    app = module.createNestApplication();
    await app.init();
  });

  afterEach(async () => {
    await app.close();
    locks.reset();
  });

  it('answers 423 while another request pays the order', async () => {
    const rival = locks.contend('order:7');
    const afterwards = rival.met().then(() => clock.advance(5_000));
    await request(app.getHttpServer()).post('/orders/7/pay').expect(423);
    await afterwards;
  });

  it('answers 503 while the store is out of reach', async () => {
    locks.unavailable();
    await request(app.getHttpServer()).post('/orders/7/pay').expect(503);
  });

  it('answers 201 when it has paid the order', async () => {
    await request(app.getHttpServer()).post('/orders/7/pay').expect(201);
    expect(locks.taken.map(({ key }) => key)).toEqual(['order:7']);
  });
});

it('the examples of docs/testing.md are these', () => {
  const [section] = readFileSync('docs/testing.md', 'utf8').split('\n## A store of your own');
  const source = plain(readFileSync('test/e2e/testing.spec.ts', 'utf8'));
  const examples = [...(section ?? '').matchAll(/```ts\n(.*?)```/gs)].map(([, example]) => example!);
  expect(examples.length).toBeGreaterThan(5);
  for (const example of examples) {
    // An import is the same in every file of a user's, and cannot stand in the middle of one here.
    const pieces = example.split(/\n\n|\n *…\n/).filter((piece) => !piece.startsWith('import '));
    for (const piece of pieces) expect(source).toContain(plain(piece));
  }
});

/** Without the indentation that a test has in its file. */
function plain(text: string): string {
  return text
    .split('\n')
    .map((line) => line.trim())
    .filter((line) => line !== '')
    .join('\n');
}
