import { afterEach, describe, expect, it } from '@jest/globals';
import { Inject, Injectable, type Provider } from '@nestjs/common';
import {
  CommandBus,
  CommandHandler,
  CqrsModule,
  EventBus,
  EventsHandler,
  QueryBus,
  QueryHandler,
  UnhandledExceptionBus,
  type ICommandHandler,
  type IEventHandler,
  type IQueryHandler,
  type UnhandledExceptionInfo,
} from '@nestjs/cqrs';
import { EventEmitter2, EventEmitterModule, OnEvent } from '@nestjs/event-emitter';
import { Test, type TestingModule } from '@nestjs/testing';
import { DistributedLock, LockService } from '../../../lib/index.js';
import { ErrorLog, Gauge, keysOf, lockModule, until } from './support.js';

let app: TestingModule;
const log = new ErrorLog();

async function start(providers: Provider[]): Promise<void> {
  app = await Test.createTestingModule({
    imports: [lockModule(), EventEmitterModule.forRoot(), CqrsModule.forRoot()],
    providers,
  })
    .setLogger(log)
    .compile();
  await app.init();
  log.errors.length = 0;
}

afterEach(() => app.close());

describe('@nestjs/event-emitter', () => {
  @Injectable()
  class Listener {
    readonly gauge = new Gauge();
    readonly keys: (string | undefined)[] = [];
    @Inject(LockService) private readonly locks!: LockService;

    @OnEvent('order.paid', { promisify: true })
    @DistributedLock('order:<order.id>')
    async above(order: { id: string }): Promise<string> {
      this.keys.push(this.locks.current()?.key);
      await this.gauge.run();
      return order.id;
    }

    @DistributedLock('order:<order.id>')
    @OnEvent('order.paid', { promisify: true })
    async below(order: { id: string }): Promise<string> {
      this.keys.push(this.locks.current()?.key);
      await this.gauge.run();
      return order.id;
    }

    @OnEvent('order.skipped')
    @DistributedLock('order:<0.id>', { wait: 0, onContended: 'skip' })
    async skips(_order: { id: string }): Promise<void> {
      await this.gauge.run();
    }

    @OnEvent('order.refused')
    @DistributedLock('order:<0.id>', { wait: 0 })
    async refuses(_order: { id: string }): Promise<void> {
      await this.gauge.run();
    }
  }

  it('runs listeners of one key one after the other, whichever side of @OnEvent the lock stands', async () => {
    await start([Listener]);
    const { gauge, keys } = app.get(Listener);
    const emitter = app.get(EventEmitter2);
    await Promise.all([emitter.emitAsync('order.paid', { id: '7' }), emitter.emitAsync('order.paid', { id: '7' })]);
    expect([gauge.runs, gauge.most, keys]).toEqual([4, 1, Array(4).fill('order:7')]);
    await Promise.all(['8', '9'].map((id) => emitter.emitAsync('order.paid', { id })));
    expect(gauge.most).toBe(2);
  });

  it('skips without a word, and logs what was refused, since nobody hears of it', async () => {
    await start([Listener]);
    const { gauge } = app.get(Listener);
    await using _held = await app.get(LockService).acquire('order:7');
    app.get(EventEmitter2).emit('order.skipped', { id: '7' });
    app.get(EventEmitter2).emit('order.refused', { id: '7' });
    await until(() => log.errors.length > 0);
    expect([gauge.runs, log.errors.length]).toEqual([0, 1]);
  });
});

describe('@nestjs/cqrs', () => {
  class Pay {
    constructor(readonly orderId: string) {}
  }
  class GetOrder {
    constructor(readonly orderId: string) {}
  }
  class Paid {
    constructor(readonly orderId: string) {}
  }

  @CommandHandler(Pay)
  class PayHandler implements ICommandHandler<Pay> {
    readonly gauge = new Gauge();
    @Inject(LockService) private readonly locks!: LockService;
    @DistributedLock('order:<command.orderId>', { wait: '1s' })
    async execute(command: Pay): Promise<string> {
      await this.gauge.run();
      return `${command.orderId} under ${this.locks.current()?.key}`;
    }
  }

  @QueryHandler(GetOrder)
  class GetOrderHandler implements IQueryHandler<GetOrder> {
    @DistributedLock('order:<query.orderId>', { wait: 20 })
    async execute(query: GetOrder): Promise<string> {
      return query.orderId;
    }
  }

  @EventsHandler(Paid)
  class PaidHandler implements IEventHandler<Paid> {
    readonly gauge = new Gauge();
    @DistributedLock('order:<0.orderId>', { wait: 100 })
    async handle(_event: Paid): Promise<void> {
      await this.gauge.run();
    }
  }

  it('runs command, query and event handlers under the lock that the message names', async () => {
    await start([PayHandler, GetOrderHandler, PaidHandler]);
    const commands = app.get(CommandBus);
    expect(await Promise.all([1, 2, 3].map(() => commands.execute(new Pay('7'))))).toEqual(
      Array(3).fill('7 under order:7'),
    );
    expect(app.get(PayHandler).gauge.most).toBe(1);
    expect(await app.get(QueryBus).execute(new GetOrder('7'))).toBe('7');
    const { gauge } = app.get(PaidHandler);
    app.get(EventBus).publishAll([new Paid('7'), new Paid('7')]);
    await until(() => gauge.runs === 2);
    await until(() => keysOf(app).free('order:7'));
    expect(gauge.most).toBe(1);
  });

  it('hands a lock error to whoever asked, and one of an event to the bus for exceptions', async () => {
    await start([PayHandler, GetOrderHandler, PaidHandler]);
    await using _held = await app.get(LockService).acquire('order:7');
    await expect(app.get(QueryBus).execute(new GetOrder('7'))).rejects.toMatchObject({ code: 'LOCK_CONTENDED' });
    const unhandled: UnhandledExceptionInfo<unknown>[] = [];
    const subscription = app
      .get(UnhandledExceptionBus)
      .subscribe((info: UnhandledExceptionInfo<unknown>) => unhandled.push(info));
    app.get(EventBus).publish(new Paid('7'));
    await until(() => unhandled.length === 1);
    expect(unhandled[0]?.exception).toMatchObject({ code: 'LOCK_CONTENDED', key: 'order:7' });
    subscription.unsubscribe();
  });
});
