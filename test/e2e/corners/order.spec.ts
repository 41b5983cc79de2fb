import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import {
  Controller,
  Get,
  Inject,
  Injectable,
  Param,
  UseGuards,
  UseInterceptors,
  type CallHandler,
  type CanActivate,
  type ExecutionContext,
  type INestApplication,
  type NestInterceptor,
} from '@nestjs/common';
import { Test } from '@nestjs/testing';
import { setTimeout as sleep } from 'node:timers/promises';
import { of, tap, type Observable } from 'rxjs';
import { DistributedLock, LockKey, LockService } from '../../../lib/index.js';
import { silent } from '../../support/silent-logger.js';
import { listen } from './platforms.js';
import { lockModule } from './support.js';

/** What happened, in order. */
const happened: string[] = [];

/** As the decorators of transaction libraries do: replaces the method by another, without its metadata or its names. */
function Transactional(): MethodDecorator {
  return (_target, _name, descriptor) => {
    const method = descriptor.value as unknown as (...args: unknown[]) => Promise<unknown>;
    descriptor.value = async function (this: unknown, ...args: unknown[]): Promise<unknown> {
      happened.push('begin');
      try {
        return await method.apply(this, args);
      } finally {
        await sleep(5);
        happened.push('commit');
      }
    } as never;
  };
}

/** As a cache does: answers by itself what it has seen. */
@Injectable()
class Cache implements NestInterceptor {
  readonly #known = new Map<string, unknown>();
  intercept(context: ExecutionContext, next: CallHandler): Observable<unknown> {
    const { url } = context.switchToHttp().getRequest<{ url: string }>();
    if (this.#known.has(url)) return of(this.#known.get(url));
    return next.handle().pipe(tap((answer) => this.#known.set(url, answer)));
  }
}

/** Locks by hand, outside of every interceptor. */
@Injectable()
class Locking implements CanActivate {
  @Inject(LockService) private readonly locks!: LockService;
  canActivate(): Promise<boolean> {
    return this.locks.withLock('guard', { wait: 20 }, () => true);
  }
}

@Controller()
class Orders {
  @Inject(LockService) private readonly locks!: LockService;

  @Get('right/:id')
  @DistributedLock('order:<id>', { wait: 50 })
  @Transactional()
  async right(@LockKey('id') @Param('id') id: string): Promise<string> {
    return `${id} under ${this.locks.current()?.key}`;
  }

  @Get('wrong/:id')
  @Transactional()
  @DistributedLock('order:<id>', { wait: 50 })
  async wrong(@Param('id') id: string): Promise<string> {
    return `${id} under ${this.locks.current()?.key}`;
  }

  @Get('guarded/:id')
  @UseGuards(Locking)
  @DistributedLock('order:<id>', { wait: 50 })
  async guarded(@Param('id') id: string): Promise<string> {
    return id;
  }

  @Get('cached/:id')
  @UseInterceptors(Cache)
  @DistributedLock('order:<id>', { wait: 50 })
  async cached(@Param('id') id: string): Promise<string> {
    return `${id} under ${this.locks.current()?.key}`;
  }
}

describe('other decorators that run something around the method', () => {
  let app: INestApplication;
  let url: string;

  beforeEach(async () => {
    const module = await Test.createTestingModule({ imports: [lockModule()], controllers: [Orders] })
      .setLogger(silent)
      .compile();
    app = module.createNestApplication({ logger: false });
    url = await listen(app);
    app.get(LockService).on('acquired', () => happened.push('acquired'));
    app.get(LockService).on('released', () => happened.push('released'));
    happened.length = 0;
  });

  afterEach(async () => {
    app.getHttpServer().closeAllConnections();
    await app.close();
  });

  it('a transaction below the lock is committed before the lock is given back', async () => {
    expect(await (await fetch(`${url}/right/7`)).text()).toBe('7 under order:7');
    expect(happened).toEqual(['acquired', 'begin', 'commit', 'released']);
  });

  it('a transaction above the lock is committed after it: the wrong order, although it locks and answers 423', async () => {
    expect(await (await fetch(`${url}/wrong/7`)).text()).toBe('7 under order:7');
    expect(happened).toEqual(['begin', 'acquired', 'released', 'commit']);
    await using _held = await app.get(LockService).acquire('order:7');
    expect((await fetch(`${url}/wrong/7`)).status).toBe(423);
  });

  it('names that a decorator below has taken are missed when the class is defined', () => {
    expect(() => {
      class Lost {
        @DistributedLock('order:<id>')
        @Transactional()
        async pay(_id: string): Promise<void> {}
      }
      return Lost;
    }).toThrow(/no parameter "id".*another decorator.*<0>.*@LockKey\('id'\)/);
  });

  it('a guard that locks is done before the lock of the method, and answers with the status of the error', async () => {
    expect((await fetch(`${url}/guarded/7`)).status).toBe(200);
    expect(happened).toEqual(['acquired', 'released', 'acquired', 'released']);
    await using _held = await app.get(LockService).acquire('guard');
    const response = await fetch(`${url}/guarded/7`);
    expect([response.status, await response.json()]).toEqual([423, { statusCode: 423, message: 'Locked' }]);
  });

  it('a cache outside answers without the lock', async () => {
    expect(await (await fetch(`${url}/cached/7`)).text()).toBe('7 under order:7');
    await using _held = await app.get(LockService).acquire('order:7');
    const response = await fetch(`${url}/cached/7`);
    expect([response.status, await response.text()]).toEqual([200, '7 under order:7']);
    expect((await fetch(`${url}/cached/7?other`)).status).toBe(423);
  });
});
