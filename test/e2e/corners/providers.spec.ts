import { afterEach, describe, expect, it } from '@jest/globals';
import {
  Controller,
  Get,
  Inject,
  Injectable,
  Param,
  Post,
  Scope,
  type INestApplication,
  type Type,
} from '@nestjs/common';
import { REQUEST } from '@nestjs/core';
import { Test } from '@nestjs/testing';
import { DistributedLock, LockService, type LockModuleOptions } from '../../../lib/index.js';
import { silent } from '../../support/silent-logger.js';
import { listen } from './platforms.js';
import { Gauge, keysOf, lockModule } from './support.js';

let app: INestApplication;
let url: string;

async function start(
  { controllers = [], providers = [] }: { controllers?: Type[]; providers?: Type[] },
  options: Partial<LockModuleOptions> = {},
): Promise<LockService> {
  const module = await Test.createTestingModule({ imports: [lockModule(options)], controllers, providers })
    .setLogger(silent)
    .compile();
  app = module.createNestApplication({ logger: false });
  url = await listen(app);
  return app.get(LockService);
}

afterEach(async () => {
  app.getHttpServer().closeAllConnections();
  await app.close();
});

const text = async (path: string, headers: Record<string, string> = {}) =>
  (await fetch(`${url}/${path}`, { headers })).text();

describe('request-scoped and transient providers', () => {
  const gauge = new Gauge();

  @Injectable({ scope: Scope.REQUEST })
  class Tenant {
    readonly tenant: string;
    @Inject(LockService) private readonly locks!: LockService;
    constructor(@Inject(REQUEST) request: { headers: Record<string, string> }) {
      this.tenant = request.headers['tenant'] ?? '';
    }
    @DistributedLock('tenant:<this.tenant>')
    async run(): Promise<string> {
      await gauge.run();
      return this.locks.current()!.key;
    }
  }

  @Controller({ path: 'scoped', scope: Scope.REQUEST })
  class Scoped {
    @Inject(LockService) private readonly locks!: LockService;
    constructor(@Inject(Tenant) private readonly tenant: Tenant) {}
    @Get(':id')
    @DistributedLock('order:<id>')
    async one(@Param('id') id: string): Promise<string> {
      return `${id} ${this.locks.current()!.key} ${await this.tenant.run()}`;
    }
  }

  @Injectable({ scope: Scope.TRANSIENT })
  class Transient {
    @DistributedLock('transient', { wait: '1s' })
    async run(): Promise<void> {
      await gauge.run();
    }
  }

  it('lock by the values of their own instance', async () => {
    const locks = await start({ controllers: [Scoped], providers: [Tenant] });
    const ask = (tenant: string) => text('scoped/7', { tenant });
    expect(await ask('a')).toBe('7 order:7 tenant:a');
    expect(await Promise.all([ask('a'), ask('a'), ask('b')])).toEqual(
      ['a', 'a', 'b'].map((tenant) => `7 order:7 tenant:${tenant}`),
    );
    expect(gauge.most).toBe(1);
    expect(await locks.inspect('tenant:a')).toBeUndefined();
  });

  it('exclude each other across instances', async () => {
    await start({ providers: [Transient] });
    const instances = await Promise.all([app.resolve(Transient), app.resolve(Transient)]);
    expect(instances[0]).not.toBe(instances[1]);
    const before = gauge.runs;
    await Promise.all(instances.map((instance) => instance.run()));
    expect([gauge.runs - before, gauge.most]).toEqual([2, 1]);
  });
});

describe('inherited and overridden methods', () => {
  abstract class Base {
    @Inject(LockService) readonly locks!: LockService;
    get keys(): string {
      return ['base:1', 'own:1'].filter((key) => this.locks.current(key)).join('+');
    }
    @Get(':id')
    @DistributedLock('base:<id>')
    async one(@Param('id') id: string): Promise<string> {
      return `${id} ${this.keys}`;
    }
  }

  @Controller('inherited')
  class Inherited extends Base {}

  @Controller('plain')
  class Plain extends Base {
    @Get(':id')
    override async one(@Param('id') _id: string): Promise<string> {
      return `over ${this.keys}`;
    }
  }

  @Controller('super')
  class OfBase extends Base {
    @Get(':id')
    override async one(@Param('id') id: string): Promise<string> {
      return `over ${this.keys} ${await super.one(id)}`;
    }
  }

  @Controller('override')
  class OfOverride extends Base {
    @Get(':id')
    @DistributedLock('own:<id>')
    override async one(@Param('id') id: string): Promise<string> {
      return `${id} ${this.keys}`;
    }
  }

  @Controller('both')
  class OfBoth extends Base {
    @Get(':id')
    @DistributedLock('own:<id>')
    override async one(@Param('id') id: string): Promise<string> {
      return super.one(id);
    }
  }

  @Controller('same')
  class Same extends Base {
    @Post(':id')
    @DistributedLock('base:<id>')
    async twice(@Param('id') id: string): Promise<string> {
      return super.one(id).catch((error: unknown) => (error as { code: string }).code);
    }
  }

  @Controller('reentrant')
  class Reentrant extends Same {
    @DistributedLock('base:<id>', { reentrant: true })
    async again(id: string): Promise<string> {
      return `again ${id}`;
    }
    @Post(':id')
    @DistributedLock('base:<id>')
    override async twice(@Param('id') id: string): Promise<string> {
      return this.again(id);
    }
  }

  it('run under the locks of exactly those methods that are called', async () => {
    await start({ controllers: [Inherited, Plain, OfBase, OfOverride, OfBoth, Same, Reentrant] });
    expect(await text('inherited/1')).toBe('1 base:1');
    expect(await text('plain/1')).toBe('over ');
    expect(await text('super/1')).toBe('over  1 base:1');
    expect(await text('override/1')).toBe('1 own:1');
    expect(await text('both/1')).toBe('1 base:1+own:1');
    const post = async (path: string) => (await fetch(`${url}/${path}`, { method: 'POST' })).text();
    expect(await post('same/1')).toBe('LOCK_REENTRANCY');
    expect(await post('reentrant/1')).toBe('again 1');
    const { free } = keysOf(app);
    expect([await free('base:1'), await free('own:1')]).toEqual([true, true]);
  });
});
