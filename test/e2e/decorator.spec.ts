import { afterEach, describe, expect, it } from '@jest/globals';
import {
  CanActivate,
  Controller,
  Get,
  Inject,
  Injectable,
  Module,
  NotFoundException,
  Scope,
  SetMetadata,
  UseGuards,
  type OnModuleInit,
  type Type,
} from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { Test, type TestingModule } from '@nestjs/testing';
import { setTimeout as sleep } from 'node:timers/promises';
import { Observable, firstValueFrom, interval, lastValueFrom, map, of, take, throwError, toArray } from 'rxjs';
import { DistributedLock, LockKey, LockModule, LockService, type LockModuleOptions } from '../../lib/index.js';
import { memoryStore } from '../../lib/stores/memory/index.js';
import { silent } from '../support/silent-logger.js';

let app: TestingModule | undefined;

afterEach(async () => {
  await app?.close();
  app = undefined;
});

async function start<T>(
  provider: Type<T>,
  options: Partial<LockModuleOptions> = {},
): Promise<{ it: T; locks: LockService }> {
  app = await Test.createTestingModule({
    imports: [LockModule.forRoot({ store: memoryStore(), wait: '1s', ...options } as LockModuleOptions)],
    providers: [provider],
  }).compile();
  await app.init();
  return { it: await app.resolve(provider), locks: app.get(LockService) };
}

/** Counts how many bodies run at once. */
class Gauge {
  running = 0;
  most = 0;
  async run<T>(body: () => T | Promise<T>): Promise<T> {
    this.running += 1;
    this.most = Math.max(this.most, this.running);
    try {
      await sleep(5);
      return await body();
    } finally {
      this.running -= 1;
    }
  }
}

describe('@DistributedLock on a service', () => {
  it('never runs two calls with one key at the same time, and different keys at will', async () => {
    const gauges: Record<string, Gauge> = { '1': new Gauge(), '2': new Gauge() };
    const all = new Gauge();
    @Injectable()
    class Service {
      @DistributedLock('order:<orderId>')
      async pay(orderId: string): Promise<string> {
        return all.run(() => (gauges[orderId] as Gauge).run(() => orderId));
      }
    }
    const { it: service } = await start(Service);
    const results = await Promise.all(['1', '1', '2', '1', '2'].map((id) => service.pay(id)));
    expect(results).toEqual(['1', '1', '2', '1', '2']);
    expect([gauges['1']?.most, gauges['2']?.most, all.most]).toEqual([1, 1, 2]);
  });

  it('keeps the name, the length and every piece of metadata, whichever side the others stand', async () => {
    class Service {
      @SetMetadata('above', 1)
      @DistributedLock('order:<orderId>')
      @SetMetadata('below', 2)
      async pay(orderId: string, _amount: number): Promise<string> {
        return orderId;
      }
    }
    const { pay } = Service.prototype;
    expect([pay.name, pay.length]).toEqual(['pay', 2]);
    expect([Reflect.getMetadata('above', pay), Reflect.getMetadata('below', pay)]).toEqual([1, 2]);
  });

  it('hands the very error of the body on', async () => {
    const error = new NotFoundException('no such order');
    @Injectable()
    class Service {
      @DistributedLock('k')
      async fail(): Promise<void> {
        throw error;
      }
    }
    const { it: service, locks } = await start(Service);
    await expect(service.fail()).rejects.toBe(error);
    await expect(locks.inspect('k')).resolves.toBeUndefined();
  });

  it('does not run the body when the key cannot be told', async () => {
    let runs = 0;
    @Injectable()
    class Service {
      @DistributedLock('user:<_user.id>')
      async template(_user: { id?: unknown } | null): Promise<void> {
        runs += 1;
      }
      @DistributedLock(() => [])
      async none(): Promise<void> {
        runs += 1;
      }
    }
    const { it: service } = await start(Service);
    for (const user of [null, {}, { id: null }, { id: '' }, { id: {} }]) {
      await expect(service.template(user)).rejects.toMatchObject({ code: 'LOCK_KEY' });
    }
    await expect(service.none()).rejects.toMatchObject({ code: 'LOCK_KEY' });
    expect(runs).toBe(0);
    await service.template({ id: 0 });
    expect(runs).toBe(1);
  });

  it('answers a nested call for the same key with a typed error at once, and holds the outer key until the outer end', async () => {
    const held: boolean[] = [];
    @Injectable()
    class Service {
      @Inject(LockService) private readonly locks!: LockService;
      @DistributedLock('a')
      async outer(inner: 'same' | 'other' | 'reentrant'): Promise<unknown> {
        try {
          return await this[inner]();
        } finally {
          held.push((await this.locks.inspect('a')) !== undefined);
        }
      }
      @DistributedLock('a')
      async same(): Promise<void> {}
      @DistributedLock('b')
      async other(): Promise<void> {
        throw new Error('in b');
      }
      @DistributedLock('a', { reentrant: true })
      async reentrant(): Promise<string> {
        return 'ran';
      }
    }
    const { it: service, locks } = await start(Service);
    const before = Date.now();
    await expect(service.outer('same')).rejects.toMatchObject({ code: 'LOCK_REENTRANCY' });
    expect(Date.now() - before).toBeLessThan(500);
    await expect(service.outer('other')).rejects.toThrow('in b');
    await expect(service.outer('reentrant')).resolves.toBe('ran');
    expect(held).toEqual([true, true, true]);
    expect([await locks.inspect('a'), await locks.inspect('b')]).toEqual([undefined, undefined]);
  });

  it('never overlaps siblings within one async context', async () => {
    const gauge = new Gauge();
    @Injectable()
    class Service {
      @DistributedLock('outer')
      async outer(): Promise<void> {
        await Promise.all([this.inner('1'), this.inner('1')]);
      }
      @DistributedLock('inner:<_id>')
      async inner(_id: string): Promise<void> {
        await gauge.run(() => undefined);
      }
    }
    const { it: service } = await start(Service);
    await service.outer();
    expect(gauge.most).toBe(1);
  });

  it('skips, answers instead, or throws when the key is contended, and says who holds it', async () => {
    @Injectable()
    class Service {
      @DistributedLock('k', { onContended: 'skip', wait: 0 })
      async skip(): Promise<string> {
        return 'ran';
      }
      @DistributedLock('k', { onContended: ({ keys }) => `busy: ${keys.join()}`, wait: 0 })
      async instead(): Promise<string> {
        return 'ran';
      }
      @DistributedLock('k', { wait: 20 })
      async refuse(): Promise<string> {
        return 'ran';
      }
      @DistributedLock('k', { onContended: 'skip', wait: 0 })
      observe(): Observable<string> {
        return of('ran');
      }
      @DistributedLock('k', { onContended: 'skip', wait: 0 })
      async *iterate(): AsyncGenerator<string> {
        yield 'ran';
      }
    }
    const { it: service, locks } = await start(Service, { instance: 'web-1' });
    const calls = async () => [
      await service.skip(),
      await service.instead(),
      await lastValueFrom(service.observe().pipe(toArray())),
      await collect(service.iterate()),
    ];
    const lock = await locks.acquire('k');
    expect(await calls()).toEqual([undefined, 'busy: k', [], []]);
    await expect(service.refuse()).rejects.toMatchObject({
      code: 'LOCK_CONTENDED',
      statusCode: 423,
      holder: 'web-1',
      key: 'k',
    });
    await lock.release();
    expect(await calls()).toEqual(['ran', 'ran', ['ran'], ['ran']]);
  });

  it('holds through an Observable for each subscription, to its completion, its error or its unsubscription', async () => {
    @Injectable()
    class Service {
      @DistributedLock('k')
      stream(kind: string): Observable<number> {
        return kind === 'error' ? throwError(() => new Error('in the stream')) : interval(5).pipe(take(3));
      }
    }
    const { it: service, locks } = await start(Service);
    const held = async () => (await locks.inspect('k')) !== undefined;
    const stream = service.stream('ok');
    expect(await held()).toBe(false);
    const seen = await lastValueFrom(
      stream.pipe(
        map(() => held()),
        toArray(),
      ),
    );
    expect(await Promise.all(seen)).toEqual([true, true, true]);
    expect(await held()).toBe(false);
    await expect(firstValueFrom(service.stream('error'))).rejects.toThrow('in the stream');
    expect(await held()).toBe(false);
    await firstValueFrom(stream);
    await sleep(5);
    expect(await held()).toBe(false);
    const both = await Promise.all([lastValueFrom(stream), lastValueFrom(stream)]);
    expect(both).toEqual([2, 2]);
  });

  it('holds through an async iterable, to its end, its error or an early return', async () => {
    @Injectable()
    class Service {
      @Inject(LockService) private readonly locks!: LockService;
      @DistributedLock('k')
      async *numbers(fail: boolean): AsyncGenerator<number> {
        yield 1;
        await expect(this.locks.acquire('k')).rejects.toMatchObject({ code: 'LOCK_REENTRANCY' });
        if (fail) throw new Error('in the iteration');
        yield 2;
      }
      @DistributedLock('k')
      async *careful(): AsyncGenerator<string> {
        try {
          yield 'first';
        } catch (error) {
          yield `caught ${(error as Error).message}`;
        }
      }
    }
    const started = await start(Service);
    const service = started.it;
    const held = async () => (await started.locks.inspect('k')) !== undefined;
    expect(await collect(service.numbers(false))).toEqual([1, 2]);
    await expect(collect(service.numbers(true))).rejects.toThrow('in the iteration');
    for await (const number of service.numbers(false)) {
      expect([number, await held()]).toEqual([1, true]);
      break;
    }
    expect(await held()).toBe(false);
    const careful = service.careful();
    await careful.next();
    expect((await careful.throw(new Error('from outside'))).value).toBe('caught from outside');
    expect([(await careful.next()).done, await held()]).toEqual([true, false]);
    const plain = service.numbers(false);
    await plain.next();
    await expect(plain.throw(new Error('from outside'))).rejects.toThrow('from outside');
    expect(await held()).toBe(false);
  });

  it('refuses a stream that its declaration does not show, and says how to declare it', async () => {
    @Injectable()
    class Service {
      @DistributedLock('k')
      hidden() {
        return of(1) as unknown as Promise<number>;
      }
      @DistributedLock('k', { returns: 'observable' })
      told() {
        return of(1) as unknown as Promise<number>;
      }
    }
    const { it: service } = await start(Service);
    await expect(service.hidden()).rejects.toThrow(/set returns: 'observable'/);
    await expect(firstValueFrom(service.told() as unknown as Observable<number>)).resolves.toBe(1);
  });

  it('takes several keys in one order, so that crossing calls never wait for each other', async () => {
    const balance: Record<string, number> = { a: 100, b: 100 };
    @Injectable()
    class Service {
      @DistributedLock(['account:<from>', 'account:<to>'], { wait: '5s' })
      async move(from: string, to: string): Promise<void> {
        const [a, b] = [balance[from] as number, balance[to] as number];
        await sleep(1);
        balance[from] = a - 1;
        balance[to] = b + 1;
      }
    }
    const { it: service } = await start(Service);
    await Promise.all(Array.from({ length: 40 }, (_, i) => (i % 2 ? service.move('a', 'b') : service.move('b', 'a'))));
    expect(balance).toEqual({ a: 100, b: 100 });
  });

  it('locks only the calls that the condition asks for', async () => {
    @Injectable()
    class Service {
      @Inject(LockService) private readonly locks!: LockService;
      @DistributedLock((amount: number) => `k:${amount}`, { condition: (amount) => amount > 10 })
      async locked(_amount: number): Promise<boolean> {
        return this.locks.current() !== undefined;
      }
    }
    const { it: service } = await start(Service);
    expect([await service.locked(5), await service.locked(50)]).toEqual([false, true]);
  });

  it('refuses a condition or a key function that answers later', async () => {
    @Injectable()
    class Service {
      @DistributedLock('k', { condition: (async () => false) as never })
      async condition(): Promise<void> {}
      @DistributedLock((async () => {
        throw new Error('later');
      }) as never)
      async key(): Promise<void> {}
    }
    const { it: service } = await start(Service);
    await expect(service.condition()).rejects.toThrow(/condition answered an object \(Promise\)/);
    await expect(service.key()).rejects.toMatchObject({ code: 'LOCK_KEY' });
  });

  it('works for request-scoped and transient providers and for subclasses', async () => {
    class Base {
      @Inject(LockService) readonly locks!: LockService;
      @DistributedLock('base:<id>')
      async inherited(id: string): Promise<string | undefined> {
        return `${id} ${this.locks.current()?.key}`;
      }
    }
    @Injectable({ scope: Scope.TRANSIENT })
    class Derived extends Base {
      @DistributedLock('derived:<id>')
      async own(id: string): Promise<string | undefined> {
        return this.locks.current()?.key ?? id;
      }
      override async inherited(id: string): Promise<string | undefined> {
        return `over ${await super.inherited(id)}`;
      }
    }
    const { it: service } = await start(Derived);
    expect([await service.inherited('1'), await service.own('2')]).toEqual(['over 1 base:1', 'derived:2']);
  });

  it('works from onModuleInit and without HTTP', async () => {
    let during: string | undefined;
    @Injectable()
    class Service implements OnModuleInit {
      @Inject(LockService) private readonly locks!: LockService;
      async onModuleInit(): Promise<void> {
        await this.job();
      }
      @DistributedLock('job')
      async job(): Promise<void> {
        during = this.locks.current()?.key;
      }
    }
    @Module({ imports: [LockModule.forRoot({ store: memoryStore() })], providers: [Service] })
    class AppModule {}
    const context = await NestFactory.createApplicationContext(AppModule, { logger: false });
    expect(during).toBe('job');
    await context.close();
  });

  it('keeps two applications of one process apart by their stores alone', async () => {
    const shared = memoryStore();
    @Injectable()
    class Service {
      @DistributedLock('k', { wait: 0, onContended: 'skip' })
      async run(): Promise<string> {
        await sleep(20);
        return 'ran';
      }
    }
    const create = () =>
      Test.createTestingModule({ imports: [LockModule.forRoot({ store: shared })], providers: [Service] }).compile();
    const [first, second] = await Promise.all([create(), create()]);
    const results = await Promise.all([first.get(Service).run(), second.get(Service).run()]);
    expect(results).toEqual(['ran', undefined]);
    await Promise.all([first.close(), second.close()]);
  });
});

describe('@DistributedLock where it cannot work', () => {
  const define = (body: () => unknown) => body;

  it.each<[string, () => unknown, RegExp]>([
    [
      'a property',
      define(() => {
        class A {
          @(DistributedLock('k') as never as PropertyDecorator) x = 1;
        }
        return A;
      }),
      /@DistributedLock\('k'\) stands on A.x, which is a property/,
    ],
    [
      'a static method',
      define(() => {
        class A {
          @DistributedLock('k') static async x(): Promise<void> {}
        }
        return A;
      }),
      /A.x, which is static/,
    ],
    [
      'a getter',
      define(() => {
        class A {
          @(DistributedLock('k') as never as MethodDecorator) get x(): number {
            return 1;
          }
        }
        return A;
      }),
      /A.x, which is an accessor/,
    ],
    [
      'a class',
      define(() => {
        @(DistributedLock('k') as never as ClassDecorator)
        class A {}
        return A;
      }),
      /stands on the class A/,
    ],
    [
      'a generator',
      define(() => {
        class A {
          @(DistributedLock('k') as never as MethodDecorator) *x(): Generator<number> {
            yield 1;
          }
        }
        return A;
      }),
      /async generator/,
    ],
    [
      'a key that names nothing',
      define(() => {
        class A {
          @DistributedLock('order:<id>') async pay(_orderId: string): Promise<void> {}
        }
        return A;
      }),
      /on A.pay: the method has no parameter "id"/,
    ],
    [
      'a wrong option',
      define(() => {
        class A {
          @DistributedLock('k', { ttl: 'soon' as never }) async x(): Promise<void> {}
        }
        return A;
      }),
      /on A.x: ttl is 'soon'/,
    ],
    [
      'an unknown option',
      define(() => {
        class A {
          @DistributedLock('k', { timeout: 5 } as never) async x(): Promise<void> {}
        }
        return A;
      }),
      /on A.x: there is no option "timeout"/,
    ],
    [
      'a signal',
      define(() => {
        class A {
          @DistributedLock('k', { signal: null } as never) async x(): Promise<void> {}
        }
        return A;
      }),
      /no option "signal"/,
    ],
    [
      'another shape than an async method can return',
      define(() => {
        class A {
          @DistributedLock('k', { returns: 'observable' } as never) async x(): Promise<void> {}
        }
        return A;
      }),
      /on A.x: returns is 'observable', but the method is async/,
    ],
    [
      'a wrong condition',
      define(() => {
        class A {
          @DistributedLock('k', { condition: true } as never) async x(): Promise<void> {}
        }
        return A;
      }),
      /condition is true/,
    ],
    [
      'a wrong shape',
      define(() => {
        class A {
          @DistributedLock('k', { returns: 'stream' } as never) async x(): Promise<void> {}
        }
        return A;
      }),
      /returns is 'stream'/,
    ],
    [
      'no key',
      define(() => {
        class A {
          @DistributedLock(undefined as never) async x(): Promise<void> {}
        }
        return A;
      }),
      /on A.x/,
    ],
    [
      'an empty list of keys',
      define(() => {
        class A {
          @DistributedLock([]) async x(): Promise<void> {}
        }
        return A;
      }),
      /list of keys is empty/,
    ],
    [
      '@LockKey on a constructor',
      define(() => {
        class A {
          constructor(@LockKey('x') readonly x: string) {}
        }
        return A;
      }),
      /constructor's parameter/,
    ],
    [
      '@LockKey with a bad name',
      define(() => {
        class A {
          async x(@LockKey('a.b') _a: string): Promise<void> {}
        }
        return A;
      }),
      /must be an identifier/,
    ],
  ])('fails with %s when the class is defined', (_, body, message) => {
    expect(body).toThrow(message);
  });

  it('fails at bootstrap when no store has the name', async () => {
    @Injectable()
    class Service {
      @DistributedLock('k', { store: 'jobs' })
      async run(): Promise<void> {}
    }
    await expect(start(Service)).rejects.toThrow(/on Service.run: there is no store "jobs"; the module has "default"/);
  });

  it('says so when Nest did not create the object', async () => {
    class Service {
      @DistributedLock('k')
      async run(): Promise<void> {}
    }
    await expect(new Service().run()).rejects.toThrow(/on Service.run: Nest has not created this object/);
    const { run } = new Service();
    await expect(run()).rejects.toThrow(/called without its object/);
  });

  it('names the missing import when the module is not global', async () => {
    @Injectable()
    class Service {
      @DistributedLock('k')
      async run(): Promise<void> {}
    }
    @Module({ providers: [Service] })
    class Feature {}
    const modules = (isGlobal: boolean) =>
      Test.createTestingModule({
        imports: [LockModule.forRootAsync({ useFactory: () => ({ store: memoryStore() }), isGlobal }), Feature],
      })
        .setLogger(silent)
        .compile();
    await expect(modules(false)).rejects.toThrow(/LockService.*Feature/s);
    app = await modules(true);
    await expect(app.get(Service).run()).resolves.toBeUndefined();
  });
});

describe('decorators beside it', () => {
  it('leaves a guard its say', async () => {
    @Injectable()
    class Never implements CanActivate {
      canActivate(): boolean {
        return false;
      }
    }
    @Controller()
    class Orders {
      @UseGuards(Never)
      @DistributedLock('a')
      @Get('above')
      async above(): Promise<void> {}
      @DistributedLock('b')
      @UseGuards(Never)
      @Get('below')
      async below(): Promise<void> {}
    }
    for (const handler of [Orders.prototype.above, Orders.prototype.below]) {
      expect(Reflect.getMetadata('__guards__', handler)).toEqual([Never]);
      expect(Reflect.getMetadata('path', handler)).toEqual(handler.name);
    }
  });
});

async function collect<T>(iterable: AsyncIterable<T>): Promise<T[]> {
  const all: T[] = [];
  for await (const value of iterable) all.push(value);
  return all;
}
