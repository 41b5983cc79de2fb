import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import {
  Controller,
  Get,
  Inject,
  Injectable,
  Res,
  Sse,
  UseGuards,
  UseInterceptors,
  type CanActivate,
  type ExecutionContext,
  type INestApplication,
} from '@nestjs/common';
import { Test } from '@nestjs/testing';
import { once } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';
import { interval, map, take, type Observable } from 'rxjs';
import { DistributedLock, LockInterceptor, LockService, type LockModuleOptions } from '../../../lib/index.js';
import { silent } from '../../support/silent-logger.js';
import { listen, platforms } from './platforms.js';
import { keysOf, lockModule, until } from './support.js';

interface Connected {
  readonly socket: NodeJS.EventEmitter;
  /** Over HTTP/2. */
  readonly stream?: NodeJS.EventEmitter;
}

/** Keeps a request until its client has left. */
@Injectable()
class UntilLeft implements CanActivate {
  async canActivate(context: ExecutionContext): Promise<boolean> {
    const request = context.switchToHttp().getRequest<Connected & { raw?: Connected }>();
    const { socket, stream } = request.raw ?? request;
    await once(stream ?? socket, 'close');
    return true;
  }
}

@Injectable()
class Reports {
  heard: string | undefined;
  @Inject(LockService) private readonly locks!: LockService;

  /** Until its signal aborts, or for a second. */
  @DistributedLock('report')
  async write(): Promise<string> {
    const { signal } = this.locks.current('report')!;
    await Promise.race([once(signal, 'abort'), sleep(1_000)]);
    this.heard = signal.aborted ? (signal.reason as Error).message : 'nothing';
    return this.heard;
  }
}

@Controller()
class Orders {
  runs = 0;
  heard: string | undefined;
  detached: AbortSignal | undefined;
  @Inject(LockService) private readonly locks!: LockService;
  @Inject(Reports) private readonly reports!: Reports;

  @Get('waits')
  @DistributedLock('waits')
  async waits(): Promise<string> {
    this.runs += 1;
    return 'ran';
  }

  @Get('late')
  @UseGuards(UntilLeft)
  @DistributedLock('waits')
  async late(): Promise<string> {
    this.runs += 1;
    return 'ran';
  }

  @Get('default')
  @DistributedLock('work')
  async byDefault(): Promise<string> {
    return this.#work();
  }

  @Get('asked')
  @DistributedLock('work', { abortOnDisconnect: true })
  async asked(): Promise<string> {
    return this.#work();
  }

  @Get('refused')
  @DistributedLock('work', { abortOnDisconnect: false })
  async refused(): Promise<string> {
    return this.#work();
  }

  @Get('inner')
  @UseInterceptors(LockInterceptor)
  async inner(): Promise<string> {
    return this.locks.withLock('work', () => this.reports.write());
  }

  @Get('outer')
  @DistributedLock('work', { abortOnDisconnect: true })
  async outer(): Promise<string> {
    return this.reports.write();
  }

  @Get('by-itself')
  @DistributedLock('work', { abortOnDisconnect: true })
  async answersByItself(@Res() response: { send(text: string): unknown }): Promise<string> {
    response.send('answered');
    return this.#work();
  }

  @Get('detached')
  @DistributedLock('detached', { abortOnDisconnect: true })
  async leavesWork(): Promise<string> {
    this.detached = this.locks.current()!.signal;
    return 'answered';
  }

  @Sse('events')
  @DistributedLock('events')
  events(): Observable<{ data: number }> {
    return interval(20).pipe(
      take(3),
      map((data) => ({ data })),
    );
  }

  /** Until its signal aborts, or for a second; then a while longer, under its lock. */
  async #work(): Promise<string> {
    const lock = this.locks.current('work')!;
    await Promise.race([once(lock.signal, 'abort'), sleep(1_000)]);
    const after = (await this.locks.inspect('work')) !== undefined && lock.held ? 'held' : 'lost';
    this.heard = lock.signal.aborted ? `${(lock.signal.reason as Error).message}, ${after}` : `nothing, ${after}`;
    return this.heard;
  }
}

const LEFT = 'the client disconnected before it was answered, held';

describe.each(platforms)('a client that leaves, on %s', (_, { adapter, open }) => {
  let app: INestApplication;
  let url: string;
  let keys: ReturnType<typeof keysOf>;
  let orders: Orders;

  async function start(options: Partial<LockModuleOptions> = {}): Promise<void> {
    const module = await Test.createTestingModule({
      imports: [lockModule(options)],
      controllers: [Orders],
      providers: [Reports],
    })
      .setLogger(silent)
      .compile();
    app = module.createNestApplication(adapter() as never, { logger: false });
    url = await listen(app);
    keys = keysOf(app);
    orders = app.get(Orders);
  }

  beforeEach(() => start());
  afterEach(() => app.close());

  /** Asks, leaves in the middle of the body, and says what the body heard. */
  const leaveDuring = async (path: string, key = 'work') => {
    const { leave } = open(url, path);
    await until(async () => !(await keys.free(key)));
    await sleep(20);
    leave();
    await until(() => keys.free(key));
    return orders.heard;
  };

  it('ends its wait', async () => {
    await using _held = await app.get(LockService).acquire('waits');
    const { leave } = open(url, 'waits');
    await until(async () => (await keys.waiting('waits')) === 1);
    const before = Date.now();
    leave();
    await until(async () => (await keys.waiting('waits')) === 0);
    expect([Date.now() - before < 1000, orders.runs]).toEqual([true, 0]);
  });

  it('does not wait, nor run, when it has left before it came to the lock', async () => {
    const lock = await app.get(LockService).acquire('waits');
    const { leave } = open(url, 'late');
    await sleep(50);
    leave();
    await sleep(50);
    expect(await keys.waiting('waits')).toBe(0);
    await lock.release();
    await sleep(20);
    expect(orders.runs).toBe(0);
    expect(await open(url, 'waits').answer).toMatchObject({ status: 200, body: 'ran' });
  });

  it('leaves a body alone, unless the decorator says otherwise', async () => {
    expect(await leaveDuring('default')).toBe('nothing, held');
    expect(await leaveDuring('asked')).toBe(LEFT);
  });

  it('tells a body by default where the module says so, unless the decorator says otherwise', async () => {
    await app.close();
    await start({ abortOnDisconnect: true });
    expect(await leaveDuring('default')).toBe(LEFT);
    expect(await leaveDuring('refused')).toBe('nothing, held');
    await leaveDuring('inner');
    expect(app.get(Reports).heard).toMatch(/client disconnected/);
  });

  it('is the business of the lock that asked alone, not of those inside it', async () => {
    await leaveDuring('outer');
    expect(app.get(Reports).heard).toBe('nothing');
  });

  it('tells nobody once the answer has been sent', async () => {
    const request = open(url, 'detached');
    expect(await request.answer).toMatchObject({ status: 200, body: 'answered' });
    request.leave();
    await sleep(50);
    expect(orders.detached?.aborted).toBe(false);
  });

  it('tells nobody that it goes after the body has answered by itself', async () => {
    expect((await open(url, 'by-itself').answer).body).toBe('answered');
    await until(() => orders.heard !== undefined);
    expect(orders.heard).toBe('nothing, held');
  });

  it('gives back the lock of its stream', async () => {
    const { begun, leave } = open(url, 'events');
    await begun;
    expect(await keys.free('events')).toBe(false);
    leave();
    await until(() => keys.free('events'));
  });

  it('that stays has the whole stream under the lock', async () => {
    const { begun, answer } = open(url, 'events');
    await begun;
    expect(await keys.free('events')).toBe(false);
    expect((await answer).body).toMatch(/data: 0[^]*data: 1[^]*data: 2/);
    await until(() => keys.free('events'));
  });
});
