import { afterEach, beforeEach, expect, it } from '@jest/globals';
import { ApolloDriver, type ApolloDriverConfig } from '@nestjs/apollo';
import type { INestApplication } from '@nestjs/common';
import {
  GraphQLModule,
  GraphQLSchemaHost,
  Int,
  Query,
  ResolveField,
  Resolver,
  Subscription,
  ObjectType,
  Field,
} from '@nestjs/graphql';
import { Test } from '@nestjs/testing';
import { graphql, parse, subscribe, type ExecutionResult } from 'graphql';
import { setTimeout as sleep } from 'node:timers/promises';
import { DistributedLock, LockService } from '../../../lib/index.js';
import { silent } from '../../support/silent-logger.js';
import { keysOf, lockModule } from './support.js';

@ObjectType()
class Clock {
  @Field(() => Int)
  zero!: number;
}

@Resolver(() => Clock)
class Ticks {
  @Query(() => Clock)
  async clock(): Promise<Clock> {
    return { zero: 0 };
  }

  @ResolveField(() => Int, { nullable: true })
  @DistributedLock('ticks', { wait: 20 })
  async last(): Promise<number> {
    return 2;
  }

  @Subscription(() => Int, { resolve: (tick: number) => tick })
  @DistributedLock('ticks', { wait: 20 })
  async *ticks(): AsyncGenerator<number> {
    for (let tick = 0; tick < 3; tick += 1) {
      yield tick;
      await sleep(5);
    }
  }
}

let app: INestApplication;

beforeEach(async () => {
  const module = await Test.createTestingModule({
    imports: [lockModule(), GraphQLModule.forRoot<ApolloDriverConfig>({ driver: ApolloDriver, autoSchemaFile: true })],
    providers: [Ticks],
  })
    .setLogger(silent)
    .compile();
  app = await module.createNestApplication({ logger: false }).init();
});

afterEach(() => app.close());

it('locks field resolvers whose interceptors are not switched on, and still answers with the code', async () => {
  const { schema } = app.get(GraphQLSchemaHost);
  const ask = () => graphql({ schema, source: '{ clock { last } }' });
  expect(await ask()).toMatchObject({ data: { clock: { last: 2 } } });
  await using _held = await app.get(LockService).acquire('ticks');
  const { errors } = await ask();
  expect(errors?.map(({ extensions }) => extensions)).toEqual([{ code: 'LOCK_CONTENDED' }]);
});

it('holds the lock of a subscription from its first value to its end', async () => {
  const { free } = keysOf(app);
  const { schema } = app.get(GraphQLSchemaHost);
  const ask = async () =>
    (await subscribe({ schema, document: parse('subscription { ticks }') })) as AsyncGenerator<ExecutionResult>;

  const seen: unknown[] = [];
  for await (const { data } of await ask()) seen.push([data?.['ticks'], await free('ticks')]);
  expect(seen).toEqual([0, 1, 2].map((tick) => [tick, false]));
  expect(await free('ticks')).toBe(true);

  // Left early.
  const left = await ask();
  await left.next();
  expect(await free('ticks')).toBe(false);
  await left.return(undefined);
  expect(await free('ticks')).toBe(true);

  await using _held = await app.get(LockService).acquire('ticks');
  await expect((await ask()).next()).rejects.toMatchObject({ code: 'LOCK_CONTENDED' });
});
