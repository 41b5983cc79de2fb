import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import {
  Controller,
  ForbiddenException,
  Get,
  Inject,
  Injectable,
  NotFoundException,
  Param,
  ParseIntPipe,
  Query,
  Sse,
  UseGuards,
  UseInterceptors,
  type CallHandler,
  type CanActivate,
  type ExecutionContext,
  type INestApplication,
  type NestInterceptor,
} from '@nestjs/common';
import { ExpressAdapter } from '@nestjs/platform-express';
import { FastifyAdapter } from '@nestjs/platform-fastify';
import { Test } from '@nestjs/testing';
import { getEventListeners, once } from 'node:events';
import { get, type ClientRequest } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { interval, map, take, throwError, type Observable } from 'rxjs';
import { DistributedLock, LockModule, LockService, LockUnavailableError, type LockStore } from '../../lib/index.js';
import { LockScope } from '../../lib/interceptors/lock.scope.js';
import { memoryStore } from '../../lib/stores/memory/index.js';
import { silent } from '../support/silent-logger.js';

@Injectable()
class Never implements CanActivate {
  canActivate(): boolean {
    throw new ForbiddenException();
  }
}

@Injectable()
class WithUser implements NestInterceptor {
  intercept(context: ExecutionContext, next: CallHandler): Observable<unknown> {
    const request = context.switchToHttp().getRequest<{ user?: unknown; query: { user?: string } }>();
    request.user = { id: request.query.user };
    return next.handle();
  }
}

@Injectable()
class Payments {
  most = 0;
  readonly booked: string[] = [];
  #running = 0;

  @DistributedLock('payment:<id>', { wait: 50 })
  async pay(id: string): Promise<string> {
    this.booked.push(id);
    return id;
  }

  async counted(): Promise<void> {
    this.#running += 1;
    this.most = Math.max(this.most, this.#running);
    await sleep(30);
    this.#running -= 1;
  }
}

@Controller()
class Orders {
  @Inject(LockService) private readonly locks!: LockService;
  @Inject(Payments) private readonly payments!: Payments;

  @DistributedLock('order:<id>')
  @Get('orders/:id')
  async one(@Param('id', ParseIntPipe) id: number): Promise<object> {
    await this.payments.counted();
    return { id, lock: this.locks.current()?.key };
  }

  @Get('contended')
  @DistributedLock('contended', { wait: 20 })
  async contended(): Promise<string> {
    return 'ran';
  }

  @Get('service')
  async service(): Promise<string> {
    return this.payments.pay('1');
  }

  @Get('missing')
  @DistributedLock('missing')
  async missing(): Promise<void> {
    throw new NotFoundException('no such order');
  }

  @Get('guarded')
  @DistributedLock('guarded')
  @UseGuards(Never)
  async guarded(): Promise<void> {}

  @Get('user')
  @UseInterceptors(WithUser)
  @DistributedLock('user:<ctx.user.id>')
  async user(): Promise<string | undefined> {
    return this.locks.current()?.key;
  }

  @Sse('events')
  @DistributedLock('events')
  events(): Observable<{ data: number }> {
    return interval(20).pipe(
      take(3),
      map((data) => ({ data })),
    );
  }

  @Sse('undeclared')
  @DistributedLock('undeclared', { returns: 'promise' })
  undeclared() {
    return interval(20).pipe(
      take(3),
      map((data) => ({ data })),
    ) as never as Promise<void>;
  }

  @Get('failing-stream')
  @DistributedLock('failing')
  failing(): Observable<never> {
    return throwError(() => new NotFoundException('in the stream'));
  }

  @Get('paid')
  @DistributedLock('paid')
  async paid(): Promise<void> {
    await sleep(60);
    await this.payments.pay('9');
    await this.locks.withLock('free', async () => this.payments.booked.push('free'));
  }

  @Get('parallel')
  @DistributedLock('parallel')
  async parallel(): Promise<object> {
    const { signal } = LockScope.current()!;
    const counts = await Promise.all(
      Array.from({ length: 20 }, (_, i) =>
        this.locks.withLock(`p:${i % 2}`, async () => {
          await sleep(1);
          return getEventListeners(signal, 'abort').length;
        }),
      ),
    );
    return { locks: counts.length, listeners: Math.max(...counts) };
  }

  @Get('slow/:ms')
  @DistributedLock('slow', { wait: '10s' })
  async slow(@Param('ms', ParseIntPipe) ms: number, @Query('n') n: string): Promise<string> {
    await sleep(ms);
    return n;
  }
}

describe.each([
  ['Express', () => new ExpressAdapter()],
  ['Fastify', () => new FastifyAdapter()],
])('over HTTP on %s', (_, adapter) => {
  let app: INestApplication;
  let locks: LockService;
  let store: LockStore;
  let url: string;

  beforeEach(async () => {
    store = memoryStore();
    const module = await Test.createTestingModule({
      imports: [LockModule.forRoot({ store, wait: '2s', shutdownTimeout: '5s' })],
      controllers: [Orders],
      providers: [Payments],
    })
      .setLogger(silent)
      .compile();
    app = module.createNestApplication(adapter() as never, { logger: false });
    await app.listen(0, '127.0.0.1');
    url = `http://127.0.0.1:${(app.getHttpServer().address() as AddressInfo).port}`;
    locks = app.get(LockService);
  });

  afterEach(async () => {
    // fetch() keeps connections open, which app.close() would wait for.
    app.getHttpServer().closeAllConnections();
    await app.close();
  });

  const free = async (key: string) => (await locks.inspect(key)) === undefined;
  const until = async (condition: () => Promise<boolean>) => {
    for (let i = 0; i < 200 && !(await condition()); i += 1) await sleep(10);
    expect(await condition()).toBe(true);
  };

  it('takes the key from the arguments after pipes, so that /7 and /007 are one order', async () => {
    const answers = await Promise.all(['7', '007'].map(async (id) => (await fetch(`${url}/orders/${id}`)).json()));
    expect(answers).toEqual([7, 7].map((id) => ({ id, lock: `order:${id}` })));
    expect(app.get(Payments).most).toBe(1);
    expect((await fetch(`${url}/orders/seven`)).status).toBe(400);
  });

  it('answers 423 with Retry-After while another holds the key, from a handler and from a service', async () => {
    const held = await locks.acquire('contended');
    const response = await fetch(`${url}/contended`);
    expect([response.status, response.headers.get('retry-after')]).toEqual([423, '1']);
    expect(await response.json()).toEqual({ statusCode: 423, message: 'Locked' });
    await held.release();
    expect((await fetch(`${url}/contended`)).status).toBe(200);
    await using _payment = await locks.acquire('payment:1');
    expect((await fetch(`${url}/service`)).status).toBe(423);
  });

  it('answers 503 with Retry-After when the store is out of reach', async () => {
    store.acquire = () => Promise.reject(new Error('no route to host'));
    const response = await fetch(`${url}/contended`);
    expect([response.status, response.headers.get('retry-after')]).toEqual([503, '1']);
    expect(new LockUnavailableError('').statusCode).toBe(503);
  });

  it("leaves the body's own errors and the guards alone", async () => {
    expect(await (await fetch(`${url}/missing`)).json()).toEqual({
      statusCode: 404,
      message: 'no such order',
      error: 'Not Found',
    });
    expect((await fetch(`${url}/guarded`)).status).toBe(403);
    expect(await free('missing')).toBe(true);
  });

  it('reads request values where the key asks for them', async () => {
    expect(await (await fetch(`${url}/user?user=5`)).text()).toBe('user:5');
    expect((await fetch(`${url}/user`)).status).toBe(500);
  });

  it('gives the lock back before the answer is sent, so that the next request of a client does not meet it', async () => {
    for (let i = 0; i < 20; i += 1) {
      expect((await fetch(`${url}/contended`)).status).toBe(200);
      expect(await free('contended')).toBe(true);
    }
  });

  it.each(['events', 'undeclared'])('holds the key of /%s until the stream has ended', async (path) => {
    const response = await fetch(`${url}/${path}`);
    const reader = (response.body as ReadableStream<Uint8Array>).getReader();
    await reader.read();
    expect(await free(path)).toBe(false);
    while (!(await reader.read()).done);
    await until(() => free(path));
  });

  it('gives the key back when the stream fails', async () => {
    expect((await fetch(`${url}/failing-stream`)).status).toBe(404);
    expect(await free('failing')).toBe(true);
  });

  it('gives the key of a stream back when the client leaves', async () => {
    const leave = new AbortController();
    const response = await fetch(`${url}/events`, { signal: leave.signal });
    await (response.body as ReadableStream).getReader().read();
    leave.abort();
    await until(() => free('events'));
  });

  it('ends the wait of a client that has left', async () => {
    const held = await locks.acquire('slow');
    const request: ClientRequest = get(`${url}/slow/1`);
    request.on('error', () => undefined);
    await until(async () => (await locks.inspect('slow'))?.localWaiters === 1);
    request.destroy();
    await until(async () => (await locks.inspect('slow'))?.localWaiters === 0);
    await held.release();
  });

  it('lets a body go on with the locks it needs when its client has left', async () => {
    const request = get(`${url}/paid`);
    request.on('error', () => undefined);
    await until(async () => !(await free('paid')));
    request.destroy();
    await until(() => free('paid'));
    expect(app.get(Payments).booked).toEqual(['9', 'free']);
  });

  it('listens for its client once, however many locks one request takes', async () => {
    // The wait of the handler's own lock is over, and no other ends with its client.
    expect(await (await fetch(`${url}/parallel`)).json()).toEqual({ locks: 20, listeners: 0 });
  });

  it('lets a running body finish under its lock at app.close(), and refuses those who wait', async () => {
    const running = fetch(`${url}/slow/300?n=1`);
    await until(async () => !(await free('slow')));
    const waiting = fetch(`${url}/slow/1?n=2`);
    await until(async () => (await locks.inspect('slow'))?.localWaiters === 1);
    const lost: unknown[] = [];
    locks.on('lost', (event) => lost.push(event));
    const [first, second] = await Promise.all([running, waiting, app.close()]);
    expect([first.status, await first.text(), second.status]).toEqual([200, '1', 503]);
    expect(lost).toEqual([]);
    await expect(locks.acquire('new')).rejects.toMatchObject({ code: 'LOCK_SHUTDOWN' });
  });
});

it('ends the lock of a body that outlasts shutdownTimeout, and tells it', async () => {
  const module = await Test.createTestingModule({
    imports: [LockModule.forRoot({ store: memoryStore(), shutdownTimeout: 50 })],
  })
    .setLogger(silent)
    .compile();
  await module.init();
  const body = module.get(LockService).withLock('k', async ({ signal }) => {
    await once(signal, 'abort');
    return (signal.reason as Error).message;
  });
  await sleep(10);
  await module.close();
  await expect(body).resolves.toMatch(/shut down while it was held/);
});
