import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import {
  Controller,
  Get,
  Header,
  HttpCode,
  Inject,
  Injectable,
  Param,
  SetMetadata,
  UseGuards,
  UseInterceptors,
  type CallHandler,
  type CanActivate,
  type ExecutionContext,
  type INestApplication,
  type NestInterceptor,
} from '@nestjs/common';
import { Reflector } from '@nestjs/core';
import { EventEmitter2, EventEmitterModule, OnEvent } from '@nestjs/event-emitter';
import { MessagePattern } from '@nestjs/microservices';
import { Cron, ScheduleModule, SchedulerRegistry } from '@nestjs/schedule';
import { Test } from '@nestjs/testing';
import type { Observable } from 'rxjs';
import { DistributedLock, LockInterceptor, LockService } from '../../../lib/index.js';
import { silent } from '../../support/silent-logger.js';
import { listen, platforms } from './platforms.js';
import { keysOf, lockModule } from './support.js';

/** Lets those in whose role the handler asks for. */
@Injectable()
class Roles implements CanActivate {
  constructor(@Inject(Reflector) private readonly reflector: Reflector) {}
  canActivate(context: ExecutionContext): boolean {
    const { query } = context.switchToHttp().getRequest<{ query: Record<string, string> }>();
    return this.reflector.get<string>('role', context.getHandler()) === query['role'];
  }
}

@Injectable()
class Order implements NestInterceptor {
  static readonly seen: unknown[] = [];
  @Inject(LockService) private readonly locks!: LockService;
  async intercept(_: ExecutionContext, next: CallHandler): Promise<Observable<unknown>> {
    Order.seen.push(await this.locks.inspect('order:7'));
    return next.handle();
  }
}

/** All of them at once. */
const all: MethodDecorator = (target, name, descriptor) => {
  const everything = [
    SetMetadata('role', 'admin'),
    UseGuards(Roles),
    UseInterceptors(Order),
    HttpCode(202),
    Header('x-seen', 'yes'),
    MessagePattern('one'),
    OnEvent('one', { promisify: true }),
    Cron('0 0 1 1 *'),
  ] as MethodDecorator[];
  for (const decorate of everything) decorate(target, name, descriptor);
};
const lock = DistributedLock('order:<id>', { wait: '2s' });

class Handler {
  @Inject(LockService) readonly locks!: LockService;
}

@Controller('plain')
class Unlocked extends Handler {
  @all
  @Get(':id')
  async one(@Param('id') _id: string, _other?: string): Promise<string | undefined> {
    return this.locks.current()?.key;
  }
}

@Controller('above')
class Above extends Handler {
  @lock
  @all
  @Get(':id')
  async one(@Param('id') id: string, _other?: string): Promise<string | undefined> {
    return this.locks.current(`order:${id}`)?.key;
  }
}

@Controller('below')
class Below extends Handler {
  @all
  @Get(':id')
  @lock
  async one(@Param('id') id: string, _other?: string): Promise<string | undefined> {
    return this.locks.current(`order:${id}`)?.key;
  }
}

describe.each([
  ['above', Above],
  ['below', Below],
])('@DistributedLock %s every other decorator', (_, locked) => {
  const method = locked.prototype.one;
  const plain = Unlocked.prototype.one;

  it('keeps the name, the length and every piece of metadata', () => {
    expect([method.name, method.length]).toEqual([plain.name, plain.length]);
    const names = Reflect.getMetadataKeys(plain) as string[];
    expect(names.length).toBeGreaterThan(10);
    for (const name of names) {
      const [found, wanted] = [Reflect.getMetadata(name, method), Reflect.getMetadata(name, plain)];
      // Beside the interceptors of others stands ours.
      expect([
        name,
        name === '__interceptors__' ? found.filter((it: unknown) => it !== LockInterceptor) : found,
      ]).toEqual([name, wanted]);
    }
  });
});

describe.each(platforms)('with every other decorator, on %s', (_, { adapter, open }) => {
  let app: INestApplication;
  let url: string;

  beforeEach(async () => {
    const module = await Test.createTestingModule({
      imports: [lockModule(), ScheduleModule.forRoot(), EventEmitterModule.forRoot()],
      controllers: [Above, Below],
    })
      .setLogger(silent)
      .compile();
    app = module.createNestApplication(adapter() as never, { logger: false });
    Order.seen.length = 0;
    url = await listen(app);
  });
  afterEach(() => app.close());

  it.each(['above', 'below'])('a guard still refuses, and no lock is taken for what it refuses (%s)', async (path) => {
    await using _held = await app.get(LockService).acquire('order:7');
    expect((await open(url, `${path}/7`).answer).status).toBe(403);
    expect([await keysOf(app).waiting('order:7'), Order.seen]).toEqual([0, []]);
  });

  it.each(['above', 'below'])('everything else still works (%s)', async (path) => {
    const answer = await open(url, `${path}/7?role=admin`).answer;
    expect(answer).toMatchObject({ status: 202, body: 'order:7' });
    expect(answer.headers['x-seen']).toBe('yes');
    // Acquired late, after the interceptors of others.
    expect(Order.seen).toEqual([undefined]);
    expect(await keysOf(app).free('order:7')).toBe(true);
  });

  it('listeners and jobs are found', async () => {
    expect((await app.get(EventEmitter2).emitAsync('one', '8')).sort()).toEqual(['order:8', 'order:8']);
    expect(app.get(SchedulerRegistry).getCronJobs().size).toBe(2);
  });
});
