import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import {
  Catch,
  ConflictException,
  Controller,
  Get,
  HttpException,
  Inject,
  Injectable,
  NotFoundException,
  Sse,
  UseFilters,
  type ArgumentsHost,
  type ExceptionFilter,
  type INestApplication,
} from '@nestjs/common';
import { APP_INTERCEPTOR, BaseExceptionFilter } from '@nestjs/core';
import { Test } from '@nestjs/testing';
import { setTimeout as sleep } from 'node:timers/promises';
import { concat, defer, of, type Observable } from 'rxjs';
import {
  DistributedLock,
  isLockError,
  LockContendedError,
  LockError,
  LockFencedError,
  LockInterceptor,
  LockService,
  LockUnavailableError,
  type LockModuleOptions,
} from '../../../lib/index.js';
import { memoryStore } from '../../../lib/stores/memory/index.js';
import { listen, platforms } from './platforms.js';
import { ErrorLog, keysOf, lockModule, until } from './support.js';

const missing = new NotFoundException('no such order');

@Injectable()
@Catch(LockContendedError)
class Busy implements ExceptionFilter {
  catch({ key, holder }: LockContendedError, host: ArgumentsHost): void {
    const response = host.switchToHttp().getResponse<{ status(status: number): { send(body: object): void } }>();
    response.status(409).send({ key, holder });
  }
}

@Injectable()
@Catch()
class Seen extends BaseExceptionFilter {
  readonly errors: unknown[] = [];
  override catch(error: unknown, host: ArgumentsHost): void {
    this.errors.push(error);
    super.catch(error, host);
  }
}

@Controller()
class Orders {
  @Inject(LockService) private readonly locks!: LockService;

  @DistributedLock('quick', { wait: 20 })
  @Get('quick')
  async quick(): Promise<string> {
    return 'ran';
  }

  @Get('by-hand')
  async byHand(): Promise<string> {
    return this.locks.withLock('quick', { wait: 20 }, () => 'ran');
  }

  @Get('filtered')
  @UseFilters(Busy)
  @DistributedLock('quick', { wait: 20 })
  async filtered(): Promise<string> {
    return 'ran';
  }

  @Get('missing')
  @DistributedLock('missing')
  async missing(): Promise<void> {
    throw missing;
  }

  @Get('fenced')
  @DistributedLock('fenced')
  async fenced(): Promise<void> {
    throw new LockFencedError('the row has seen a larger token', 5n);
  }

  @Get('mistake')
  @DistributedLock('user:<ctx.user.id>')
  async mistake(): Promise<void> {}

  @Sse('stream')
  @DistributedLock('stream')
  stream(): Observable<{ data: string }> {
    return concat(
      of({ data: 'first' }),
      defer(async () => {
        await sleep(20);
        return this.locks.withLock('quick', { wait: 20 }, () => ({ data: 'second' }));
      }),
    );
  }
}

describe.each(platforms)('errors on %s', (_, { adapter, open }) => {
  let app: INestApplication;
  let locks: LockService;
  let url: string;
  const log = new ErrorLog();

  async function start(options: Partial<LockModuleOptions> = {}): Promise<Seen> {
    const module = await Test.createTestingModule({
      imports: [lockModule(options)],
      controllers: [Orders],
      providers: [{ provide: APP_INTERCEPTOR, useExisting: LockInterceptor }],
    })
      .setLogger(log)
      .compile();
    app = module.createNestApplication(adapter() as never, { logger: log });
    const seen = new Seen(app.getHttpAdapter());
    app.useGlobalFilters(seen);
    url = await listen(app);
    locks = app.get(LockService);
    log.errors.length = 0;
    return seen;
  }

  let seen: Seen;
  beforeEach(async () => {
    seen = await start();
  });
  afterEach(() => app.close());

  const ask = (path: string) => open(url, path).answer;

  it.each(['quick', 'by-hand'])(
    'answers /%s with 423 and Retry-After, with no key in it, and logs nothing',
    async (path) => {
      const held = await locks.acquire('quick');
      const { status, headers, body } = await ask(path);
      expect([status, headers['retry-after']]).toEqual([423, '1']);
      expect(JSON.parse(body)).toEqual({ statusCode: 423, message: 'Locked' });
      expect(log.errors).toEqual([]);
      await held.release();
      expect(await ask(path)).toMatchObject({ status: 200, body: 'ran' });
    },
  );

  it('gives filters an exception that is both ours and of Nest', async () => {
    await using _held = await locks.acquire('quick');
    await ask('quick');
    const [error] = seen.errors as [LockContendedError];
    expect(error).toBeInstanceOf(HttpException);
    expect(error).toBeInstanceOf(LockError);
    expect(error).toBeInstanceOf(LockContendedError);
    expect(error).not.toBeInstanceOf(LockUnavailableError);
    expect(isLockError(error, 'LOCK_CONTENDED')).toBe(true);
    expect([error.key, error.holder, error.statusCode, error.status, error.retryAfter]).toEqual([
      'quick',
      'holder-1',
      423,
      423,
      1,
    ]);
    expect(error.waited).toBeGreaterThan(10);
    expect((error.cause as Error).message).toMatch(/"quick" is locked by another owner/);
  });

  it('answers 503 and Retry-After when the store does not answer, and 409 when a token is stale', async () => {
    const fenced = await ask('fenced');
    expect([fenced.status, JSON.parse(fenced.body)]).toEqual([409, { statusCode: 409, message: 'Conflict' }]);
    await app.close();
    const store = Object.assign(memoryStore(), { acquire: () => Promise.reject(new Error('no route to 10.0.0.7')) });
    await start({ store });
    const { status, headers, body } = await ask('quick');
    expect([status, headers['retry-after'], JSON.parse(body)]).toEqual([
      503,
      '1',
      { statusCode: 503, message: 'Service Unavailable' },
    ]);
  });

  it('answers 500 to a mistake, and logs it', async () => {
    const { status, body } = await ask('mistake');
    expect([status, JSON.parse(body)]).toEqual([500, { statusCode: 500, message: 'Internal Server Error' }]);
    expect(log.errors).toMatchObject([{ code: 'LOCK_KEY', message: expect.stringContaining('Orders.mistake') }]);
  });

  it("hands the very error of the body to the filters, and leaves a handler's filter its choice", async () => {
    expect((await ask('missing')).status).toBe(404);
    expect(seen.errors[0]).toBe(missing);
    await using _held = await locks.acquire('quick');
    const { status, body } = await ask('filtered');
    expect([status, JSON.parse(body)]).toEqual([409, { key: 'quick', holder: 'holder-1' }]);
  });

  it('ends a stream that meets a contended key after it has begun', async () => {
    await using _held = await locks.acquire('quick');
    const { status, body } = await ask('stream');
    expect([status, /data: first/.test(body), /quick|holder-1/.test(body)]).toEqual([200, true, false]);
    await until(() => keysOf(app).free('stream'));
  });

  it('raises what the module says instead, also when that throws', async () => {
    await app.close();
    seen = await start({
      errors: async (error, context) => {
        if (isLockError(error, 'LOCK_CONTENDED')) return new ConflictException(`${context.getType()} busy`);
        if (isLockError(error, 'LOCK_FENCED')) throw new NotFoundException('thrown');
        return undefined;
      },
    });
    await using _held = await locks.acquire('quick');
    for (const path of ['quick', 'by-hand']) {
      const { status, body } = await ask(path);
      expect([status, JSON.parse(body).message]).toEqual([409, 'http busy']);
    }
    expect((await ask('fenced')).status).toBe(404);
    expect((await ask('mistake')).status).toBe(500);
  });

  it('leaves the choice of the module alone when an interceptor that knows none of it stands outside', async () => {
    await app.close();
    const module = await Test.createTestingModule({
      imports: [lockModule({ errors: (error) => error })],
      controllers: [Orders],
    })
      .setLogger(log)
      .compile();
    app = module.createNestApplication(adapter() as never, { logger: log });
    seen = new Seen(app.getHttpAdapter());
    app.useGlobalFilters(seen).useGlobalInterceptors(new LockInterceptor());
    url = await listen(app);
    await using _held = await app.get(LockService).acquire('quick');
    expect((await ask('quick')).status).toBe(423);
    expect(seen.errors[0]).not.toBeInstanceOf(HttpException);
    expect((await ask('by-hand')).status).toBe(423);
    expect(seen.errors[1]).toBeInstanceOf(HttpException);
  });
});
