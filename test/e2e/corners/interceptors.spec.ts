import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import {
  Controller,
  Get,
  RequestTimeoutException,
  UseInterceptors,
  type CallHandler,
  type ExecutionContext,
  type INestApplication,
  type NestInterceptor,
} from '@nestjs/common';
import { Test } from '@nestjs/testing';
import { setTimeout as sleep } from 'node:timers/promises';
import { catchError, of, retry, timeout, type Observable } from 'rxjs';
import { DistributedLock, LockService } from '../../../lib/index.js';
import { silent } from '../../support/silent-logger.js';
import { listen, platforms } from './platforms.js';
import { lockModule, until } from './support.js';

class TimeOut implements NestInterceptor {
  intercept(_context: ExecutionContext, next: CallHandler): Observable<unknown> {
    const late = (): never => {
      throw new RequestTimeoutException();
    };
    return next.handle().pipe(timeout({ first: 100, with: late }));
  }
}

class Retry implements NestInterceptor {
  intercept(_context: ExecutionContext, next: CallHandler): Observable<unknown> {
    return next.handle().pipe(retry({ count: 20, delay: 20 }));
  }
}

class Fallback implements NestInterceptor {
  intercept(_context: ExecutionContext, next: CallHandler): Observable<unknown> {
    return next.handle().pipe(catchError(() => of('fallback')));
  }
}

@Controller()
class Orders {
  runs = 0;
  go: (() => void) | undefined;

  @Get('slow')
  @UseInterceptors(TimeOut)
  @DistributedLock('slow', { wait: '20s' })
  async slow(): Promise<string> {
    this.runs += 1;
    await new Promise<void>((resolve) => (this.go = resolve));
    return 'ran';
  }

  @Get('again')
  @UseInterceptors(Retry)
  @DistributedLock('again', { wait: 0 })
  async again(): Promise<string> {
    this.runs += 1;
    if (this.runs === 1) throw new Error('the first');
    return 'ran';
  }

  @Get('instead')
  @UseInterceptors(Fallback)
  @DistributedLock('instead', { wait: 0 })
  async instead(): Promise<string> {
    throw new Error('it went wrong');
  }
}

describe.each(platforms.slice(0, 2))('interceptors between the lock and its handler, on %s', (_name, platform) => {
  let app: INestApplication;
  let url: string;
  let locks: LockService;
  const answer = async (path: string): Promise<[number, string]> => {
    const response = await fetch(`${url}/${path}`);
    const text = await response.text();
    return [response.status, response.status === 200 ? text : ''];
  };

  beforeEach(async () => {
    const module = await Test.createTestingModule({ imports: [lockModule()], controllers: [Orders] })
      .setLogger(silent)
      .compile();
    app = module.createNestApplication(platform.adapter() as never, { logger: false });
    url = await listen(app);
    locks = app.get(LockService);
  });

  afterEach(async () => {
    await app.close();
  });

  it('answer at once where they give up a body that goes on, which keeps its lock until it is done', async () => {
    expect(await answer('slow')).toEqual([408, '']);
    const orders = app.get(Orders);
    expect(await locks.tryAcquire('slow')).toBeNull();
    orders.go?.();
    await until(async () => (await locks.inspect('slow')) === undefined);
  });

  it('answer at once where they give up a wait, which ends with it', async () => {
    const held = await locks.acquire('slow');
    expect(await answer('slow')).toEqual([408, '']);
    await until(async () => ((await locks.inspect('slow'))?.waiters ?? 0) === 0);
    await held.release();
    await sleep(20);
    expect(app.get(Orders).runs).toBe(0);
  });

  it('try again after an error of the body, and after contention', async () => {
    expect(await answer('again')).toEqual([200, 'ran']);
    const held = await locks.acquire('again');
    setTimeout(() => void held.release(), 60);
    expect(await answer('again')).toEqual([200, 'ran']);
  });

  it('answer in the place of a body that fails, and of a lock that is not to be had', async () => {
    expect(await answer('instead')).toEqual([200, 'fallback']);
    await using _held = await locks.acquire('instead');
    expect(await answer('instead')).toEqual([200, 'fallback']);
  });
});
