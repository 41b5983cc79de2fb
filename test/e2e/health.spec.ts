import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { Controller, Get, Inject, Module, Query, type INestApplication, type LoggerService } from '@nestjs/common';
import { HealthCheck, HealthCheckService, TerminusModule, type HealthCheckResult } from '@nestjs/terminus';
import { Test } from '@nestjs/testing';
import type { AddressInfo } from 'node:net';
import { LockModule, type LockModuleOptions } from '../../lib/index.js';
import { memoryStore } from '../../lib/stores/memory/index.js';
import { redisStore } from '../../lib/stores/redis/index.js';
import { LockHealthIndicator } from '../../lib/terminus/index.js';
import { RedisServer } from '../support/redis-server.js';

const PASSWORD = 'open-sesame';

@Controller('health')
class HealthController {
  constructor(
    @Inject(HealthCheckService) private readonly health: HealthCheckService,
    @Inject(LockHealthIndicator) private readonly locks: LockHealthIndicator,
  ) {}

  @Get()
  @HealthCheck()
  check(@Query('store') store?: string, @Query('timeout') timeout?: string): Promise<HealthCheckResult> {
    return this.health.check([
      () => this.locks.pingCheck('locks', { ...(store && { store }), ...(timeout && { timeout }) }),
    ]);
  }
}

@Module({
  imports: [TerminusModule.forRoot({ logger: false })],
  controllers: [HealthController],
  providers: [LockHealthIndicator],
})
class HealthModule {}

describe('LockHealthIndicator', () => {
  let server: RedisServer;
  let app: INestApplication;
  let url: string;
  let log: string[];

  beforeEach(async () => {
    log = [];
    server = await RedisServer.start({ args: ['--requirepass', PASSWORD] });
  });

  afterEach(async () => {
    try {
      await app.close();
    } finally {
      // Whatever a test has left: a server that goes on would keep the whole run from ending.
      await server.stop();
    }
  });

  const redis = () =>
    redisStore({ url: server.url.replace('//', `//:${PASSWORD}@`), commandTimeout: 300, connectTimeout: 300 } as never);

  async function start(options: LockModuleOptions) {
    const write = (line: unknown, ...rest: unknown[]) => void log.push([line, ...rest].join(' '));
    const logger: LoggerService = { log: write, warn: write, error: write };
    const module = await Test.createTestingModule({ imports: [LockModule.forRoot(options), HealthModule] })
      .setLogger(logger)
      .compile();
    app = module.createNestApplication({ logger });
    await app.listen(0, '127.0.0.1');
    url = `http://127.0.0.1:${(app.getHttpServer().address() as AddressInfo).port}/health`;
    log.length = 0;
  }

  async function check(query = ''): Promise<{ status: number; text: string; locks: Record<string, unknown> }> {
    const response = await fetch(url + query, { headers: { connection: 'close' } });
    const text = await response.text();
    return { status: response.status, text, locks: JSON.parse(text).details?.locks };
  }

  const up = (backend: string) => ({ status: 'up', backend, responseTime: expect.any(Number) });
  const down = (backend: string, reason: unknown) => ({ ...up(backend), status: 'down', reason });

  it('is up while every store answers, down with the one that does not, and up again', async () => {
    await start({ stores: { default: memoryStore(), jobs: redis() } });
    expect(await check()).toMatchObject({
      status: 200,
      locks: { status: 'up', stores: { default: up('memory'), jobs: up('redis') } },
    });
    await server.kill();
    const broken = await check();
    expect(broken).toMatchObject({
      status: 503,
      locks: {
        status: 'down',
        stores: { default: up('memory'), jobs: down('redis', expect.stringMatching(/^[A-Z_]+$/)) },
      },
    });
    // Nothing that an outsider need not know.
    for (const secret of [PASSWORD, String(server.port), '127.0.0.1']) expect(broken.text).not.toContain(secret);
    await check();
    await server.run();
    for (let i = 0; i < 100 && (await check()).status !== 200; i += 1);
    expect((await check()).locks).toMatchObject({ status: 'up' });
    const lines = log.filter((line) => line.includes('LockHealthIndicator'));
    expect(lines).toEqual([
      expect.stringMatching(/^The store "jobs" is down: .+/),
      expect.stringMatching(/^The store "jobs" answers again\./),
    ]);
    expect(lines.join()).not.toContain(PASSWORD);
  });

  it('asks one store where it is told to', async () => {
    await start({ stores: { default: memoryStore(), jobs: redis() } });
    await server.kill();
    expect(await check('?store=default')).toMatchObject({ status: 200, locks: { stores: { default: up('memory') } } });
    expect((await check('?store=jobs')).status).toBe(503);
    expect((await check('?store=other')).status).toBe(500);
  });

  it('does not wait for a store that is silent', async () => {
    const store = redis();
    await start({ store });
    await server.pause();
    const since = Date.now();
    const silent = await check('?timeout=100ms');
    expect(Date.now() - since).toBeLessThan(290);
    expect(silent).toMatchObject({
      status: 503,
      locks: { status: 'down', stores: { default: down('redis', 'TIMEOUT') } },
    });
    server.resume();
  });

  it('asks a store that could not be opened yet, and nobody where locking is switched off', async () => {
    await server.kill();
    await start({ store: redis(), lazyConnect: true });
    expect((await check()).status).toBe(503);
    await server.run();
    for (let i = 0; i < 100 && (await check()).status !== 200; i += 1);
    expect((await check()).status).toBe(200);
    await app.close();
    await server.kill();
    await start({ store: redis(), enabled: false });
    expect(await check()).toMatchObject({ status: 200, locks: { status: 'up', enabled: false, stores: {} } });
  });

  it('reads a key and never takes one', async () => {
    const store = memoryStore();
    const acquire = store.acquire.bind(store);
    let taken = 0;
    store.acquire = (request) => {
      taken += 1;
      return acquire(request);
    };
    await start({ store });
    expect((await check()).status).toBe(200);
    expect(taken).toBe(0);
  });

  it('refuses options that it does not know', async () => {
    await start({ store: memoryStore() });
    const health = app.get(LockHealthIndicator);
    await expect(health.pingCheck('locks', { wait: 1 } as never)).rejects.toThrow(/no option "wait"/);
    await expect(health.pingCheck('locks', { timeout: 0 })).rejects.toThrow(/timeout is 0/);
    await expect(health.pingCheck('locks', { store: 'x' })).rejects.toThrow(/no store 'x'; the module has "default"/);
  });
});
