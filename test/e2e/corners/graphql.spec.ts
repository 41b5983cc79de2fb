import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { ApolloDriver, type ApolloDriverConfig } from '@nestjs/apollo';
import { Catch, Inject, Injectable, UseFilters, type ExceptionFilter, type INestApplication } from '@nestjs/common';
import {
  Args,
  Field,
  GraphQLModule,
  Int,
  Mutation,
  ObjectType,
  Parent,
  Query,
  ResolveField,
  Resolver,
} from '@nestjs/graphql';
import { ExpressAdapter } from '@nestjs/platform-express';
import { FastifyAdapter } from '@nestjs/platform-fastify';
import { Test } from '@nestjs/testing';
import { GraphQLError } from 'graphql';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { DistributedLock, LockContendedError, LockService, type LockModuleOptions } from '../../../lib/index.js';
import { ErrorLog, Gauge, keysOf, lockModule, until } from './support.js';

@ObjectType()
class Order {
  @Field(() => Int)
  id!: number;
  @Field(() => String)
  lock!: string;
}

@Injectable()
@Catch(LockContendedError)
class Busy implements ExceptionFilter {
  catch({ key, holder }: LockContendedError): unknown {
    return new GraphQLError(`${key} is with ${holder}`, { extensions: { code: 'BUSY' } });
  }
}

@Resolver(() => Order)
class Orders {
  readonly gauge = new Gauge();
  @Inject(LockService) private readonly locks!: LockService;

  @Query(() => Order)
  @DistributedLock('order:<id>', { wait: '2s' })
  async order(@Args('id', { type: () => Int }) id: number): Promise<Order> {
    await this.gauge.run();
    return { id, lock: this.locks.current()!.key };
  }

  @DistributedLock('order:<id>', { wait: 20 })
  @Mutation(() => Order)
  async pay(@Args('id', { type: () => Int }) id: number): Promise<Order> {
    return { id, lock: this.locks.current()!.key };
  }

  @ResolveField(() => String, { nullable: true })
  @DistributedLock('total:<order.id>', { wait: 20 })
  async total(@Parent() order: Order): Promise<string> {
    return `${order.id} under ${this.locks.current()!.key}`;
  }

  @Query(() => Int, { nullable: true })
  @DistributedLock('user:<ctx.headers.user>')
  async user(): Promise<number> {
    return 1;
  }

  @Query(() => Int, { nullable: true })
  @DistributedLock('failing')
  async failing(): Promise<number> {
    throw new GraphQLError('no such order', { extensions: { code: 'NOT_FOUND' } });
  }

  @Query(() => Int, { nullable: true })
  @UseFilters(Busy)
  @DistributedLock('filtered', { wait: 20 })
  async filtered(): Promise<number> {
    return 1;
  }
}

describe.each([
  ['Express', () => new ExpressAdapter()],
  ['Fastify', () => new FastifyAdapter()],
])('GraphQL resolvers on %s', (_, adapter) => {
  let app: INestApplication;
  let locks: LockService;
  let url: string;
  const log = new ErrorLog();

  async function start(options: Partial<LockModuleOptions> = {}): Promise<void> {
    const module = await Test.createTestingModule({
      imports: [
        lockModule(options),
        GraphQLModule.forRoot<ApolloDriverConfig>({
          driver: ApolloDriver,
          autoSchemaFile: true,
          fieldResolverEnhancers: ['interceptors'],
        }),
      ],
      providers: [Orders],
    })
      .setLogger(log)
      .compile();
    app = module.createNestApplication(adapter() as never, { logger: log });
    await app.listen(0, '127.0.0.1');
    url = `${await app.getUrl()}/graphql`;
    locks = app.get(LockService);
    log.errors.length = 0;
  }

  const stop = async () => {
    app.getHttpServer().closeAllConnections();
    await app.close();
  };

  beforeEach(() => start());
  afterEach(stop);

  const ask = async (query: string, init: RequestInit = {}) => {
    const response = await fetch(url, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ query }),
      ...init,
    });
    return (await response.json()) as { data: unknown; errors?: { message: string; extensions: object }[] };
  };

  it('runs queries, mutations and field resolvers under the lock that their arguments name', async () => {
    expect(await ask('mutation { pay(id: 7) { id lock total } }')).toEqual({
      data: { pay: { id: 7, lock: 'order:7', total: '7 under total:7' } },
    });
    expect(await ask('{ order(id: 8) { lock } }')).toEqual({ data: { order: { lock: 'order:8' } } });
  });

  it('never runs two resolvers of one request with one key at the same time', async () => {
    const { data } = await ask('{ a: order(id: 1) { id } b: order(id: 1) { id } c: order(id: 1) { id } }');
    expect(data).toEqual({ a: { id: 1 }, b: { id: 1 }, c: { id: 1 } });
    const { gauge } = app.get(Orders);
    expect([gauge.runs, gauge.most]).toEqual([3, 1]);
    expect(await keysOf(app).free('order:1')).toBe(true);
  });

  it('answers with our code and nothing of what is inside', async () => {
    const held = await locks.acquire('order:7');
    const answer = await ask('mutation { pay(id: 7) { id } }');
    expect(answer.errors).toMatchObject([
      { message: 'Locked', path: ['pay'], extensions: { code: 'LOCK_CONTENDED', retryAfter: 1 } },
    ]);
    expect(JSON.stringify(answer)).not.toMatch(/order:7|holder-1/);
    // Contention is daily life.
    expect(log.errors).toEqual([]);
    await held.release();
    expect((await ask('mutation { pay(id: 7) { id } }')).errors).toBeUndefined();
  });

  it('fails the one field whose lock is contended, and no other', async () => {
    await using _held = await locks.acquire('total:7');
    const answer = await ask('{ order(id: 7) { id total } }');
    expect(answer).toMatchObject({
      data: { order: { id: 7, total: null } },
      errors: [{ message: 'Locked', path: ['order', 'total'], extensions: { code: 'LOCK_CONTENDED' } }],
    });
  });

  it('logs a mistake and keeps it from the client', async () => {
    const answer = await ask('{ user }');
    expect(answer.errors).toMatchObject([{ message: 'Internal Server Error', extensions: { code: 'LOCK_KEY' } }]);
    expect(JSON.stringify(answer)).not.toMatch(/DistributedLock\(/);
    expect(log.errors).toMatchObject([{ code: 'LOCK_KEY', message: expect.stringContaining('Orders.user') }]);
  });

  it("leaves the body's own error alone, and an own filter its choice", async () => {
    await using _held = await locks.acquire('filtered');
    expect((await ask('{ failing }')).errors).toMatchObject([
      { message: 'no such order', extensions: { code: 'NOT_FOUND' } },
    ]);
    expect((await ask('{ filtered }')).errors).toMatchObject([
      { message: 'filtered is with holder-1', extensions: { code: 'BUSY' } },
    ]);
  });

  it('ends the wait of a client that has left', async () => {
    const { waiting } = keysOf(app);
    await using _held = await locks.acquire('order:7');
    const leave = new AbortController();
    const asked = ask('{ order(id: 7) { id } }', { signal: leave.signal });
    await until(async () => (await waiting('order:7')) === 1);
    leave.abort();
    await expect(asked).rejects.toThrow();
    const before = Date.now();
    await until(async () => (await waiting('order:7')) === 0);
    expect(Date.now() - before).toBeLessThan(1000);
  });

  it('listens to a connection once, however many resolvers of a request wait for their locks', async () => {
    let most = 0;
    app.getHttpServer().on('request', (request: IncomingMessage, response: ServerResponse) => {
      const look = () => {
        most = Math.max(most, response.listenerCount('close'), request.socket.listenerCount('close'));
        if (!response.writableEnded) setTimeout(look, 2);
      };
      look();
    });
    const mostFor = async (fields: string[]) => {
      most = 0;
      expect((await ask(`{ ${fields.join(' ')} }`)).errors).toBeUndefined();
      return most;
    };
    const one = await mostFor(['order(id: 1) { id }']);
    expect(one).toBeGreaterThan(0);
    expect(await mostFor(Array.from({ length: 15 }, (_, i) => `f${i}: order(id: ${i}) { id }`))).toBe(one);
  });

  it('raises what the module says instead', async () => {
    await stop();
    await start({
      errors: ({ code }, context) =>
        new GraphQLError(`${context.getType()} ${code}`, { extensions: { code: 'TRY_LATER' } }),
    });
    await using _held = await locks.acquire('order:7');
    expect((await ask('mutation { pay(id: 7) { id } }')).errors).toMatchObject([
      { message: 'graphql LOCK_CONTENDED', extensions: { code: 'TRY_LATER' } },
    ]);
  });
});
