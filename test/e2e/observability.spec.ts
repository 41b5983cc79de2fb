import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { Controller, Get, Inject, Injectable, Param, type INestApplication } from '@nestjs/common';
import { Test } from '@nestjs/testing';
import { SpanKind, SpanStatusCode, trace } from '@opentelemetry/api';
import type { NextFunction, Request, Response } from 'express';
import type { AddressInfo } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { inspect } from 'node:util';
import { DistributedLock, LockModule, LockService, type LockStore, type LockTelemetry } from '../../lib/index.js';
import { LOCK_METRICS } from '../../lib/opentelemetry/lock.metrics.js';
import { openTelemetry } from '../../lib/opentelemetry/index.js';
import { memoryStore } from '../../lib/stores/memory/index.js';
import { silent } from '../support/silent-logger.js';
import { TelemetrySdk } from '../support/telemetry-sdk.js';

/** A value that makes a key private; nothing that is exported may hold it. */
const SECRET = 'jane.doe';
const KEY = `order:${SECRET}`;

@Injectable()
class Payments {
  constructor(@Inject(LockService) private readonly locks: LockService) {}

  @DistributedLock('payment:<id>')
  async book(id: string): Promise<string> {
    trace.getActiveSpan()?.setAttribute('seen.by', 'the body');
    return id;
  }

  @DistributedLock((id: string) => `lost:${id}`, { template: 'lost:<id>' })
  async lose(id: string): Promise<void> {
    await this.locks.forceRelease(`lost:${id}`);
  }

  @DistributedLock((id: string) => `plain:${id}`)
  async plain(_id: string): Promise<void> {}

  @DistributedLock(['from:<from>', 'to:<to>'])
  async transfer(from: string, to: string): Promise<string> {
    return from + to;
  }
}

@Controller()
class Orders {
  constructor(@Inject(Payments) private readonly payments: Payments) {}

  @Get('pay/:id')
  @DistributedLock('order:<id>', { wait: 20 })
  async pay(@Param('id') id: string): Promise<string> {
    return this.payments.book(id);
  }

  @Get('lose/:id')
  async lose(@Param('id') id: string): Promise<void> {
    await this.payments.lose(id);
  }
}

const lockAttributes = (template?: string, more: object = {}) => ({
  'distributed_lock.store': 'default',
  'distributed_lock.backend': 'memory',
  ...(template === undefined ? {} : { 'distributed_lock.template': template }),
  ...more,
});

describe('openTelemetry()', () => {
  let sdk: TelemetrySdk;
  let app: INestApplication;
  let locks: LockService;
  let store: LockStore;
  let url: string;

  beforeEach(() => {
    sdk = new TelemetrySdk();
    sdk.register();
  });

  afterEach(async () => {
    await app.close();
    const exported = inspect([sdk.spans, await sdk.points()], { depth: 12 });
    await sdk.shutdown();
    // Whatever a test has done: no key and no part of one leaves the process.
    expect(exported).not.toContain(SECRET);
  });

  async function start(telemetry: LockTelemetry | undefined = openTelemetry()) {
    store = memoryStore();
    const module = await Test.createTestingModule({
      imports: [LockModule.forRoot({ store, telemetry })],
      controllers: [Orders],
      providers: [Payments],
    })
      .setLogger(silent)
      .compile();
    app = module.createNestApplication({ logger: false });
    // As an instrumentation of the HTTP server does it.
    app.use((_: Request, response: Response, next: NextFunction) =>
      trace.getTracer('http').startActiveSpan('request', (span) => {
        response.once('finish', () => span.end());
        next();
      }),
    );
    await app.listen(0, '127.0.0.1');
    url = `http://127.0.0.1:${(app.getHttpServer().address() as AddressInfo).port}`;
    locks = app.get(LockService);
  }

  const request = (path: string) => fetch(`${url}/${path}`, { headers: { connection: 'close' } });
  const parentOf = (name: string) => sdk.span(name).parentSpanContext?.spanId;
  const idOf = (name: string) => sdk.span(name).spanContext().spanId;
  const at = async (name: keyof typeof LOCK_METRICS, template?: string) =>
    (await sdk.points()).filter(
      (point) => point.name === name && point.attributes['distributed_lock.template'] === template,
    );
  const values = async (name: keyof typeof LOCK_METRICS, template?: string) =>
    (await at(name, template)).map(({ value, attributes }) => [value, attributes['distributed_lock.outcome']]);

  it("shows a lock's wait and hold in the trace of its request, and the body within the hold", async () => {
    await start();
    expect(await (await request(`pay/${SECRET}`)).text()).toBe(SECRET);
    const [root, hold] = [idOf('request'), idOf('lock.hold order:<id>')];
    expect(new Set(sdk.spans.map((span) => span.spanContext().traceId)).size).toBe(1);
    expect([parentOf('lock.wait order:<id>'), parentOf('lock.hold order:<id>')]).toEqual([root, root]);
    // The handler calls a service that has a lock of its own.
    expect([parentOf('lock.wait payment:<id>'), parentOf('lock.hold payment:<id>')]).toEqual([hold, hold]);
    expect(sdk.span('lock.wait order:<id>').attributes).toEqual(
      lockAttributes('order:<id>', { 'distributed_lock.outcome': 'acquired' }),
    );
    expect(sdk.span('lock.hold payment:<id>')).toMatchObject({
      kind: SpanKind.INTERNAL,
      status: { code: SpanStatusCode.UNSET },
      attributes: lockAttributes('payment:<id>', {
        'distributed_lock.outcome': 'released',
        'distributed_lock.handed_off': false,
        'seen.by': 'the body',
      }),
      instrumentationScope: { name: 'nestjs-distributed-lock' },
    });
  });

  it('counts and measures what was taken and given back', async () => {
    await start();
    await locks.withLock(KEY, { template: 'order:<id>' }, () => sleep(30));
    expect(
      (await at('distributed_lock.acquired', 'order:<id>')).map(({ value, attributes }) => [value, attributes]),
    ).toEqual([[1, lockAttributes('order:<id>', { 'distributed_lock.handed_off': false })]]);
    expect(await values('distributed_lock.wait.duration', 'order:<id>')).toEqual([[1, 'acquired']]);
    const [hold] = await at('distributed_lock.hold.duration', 'order:<id>');
    expect(hold?.attributes).toEqual(lockAttributes('order:<id>', { 'distributed_lock.outcome': 'released' }));
    expect(hold?.sum).toBeGreaterThan(0.025);
    expect(hold?.sum).toBeLessThan(5);
    expect(hold?.boundaries).toEqual(LOCK_METRICS['distributed_lock.hold.duration'].buckets);
  });

  it('tells contention from the rest, as no error of its own', async () => {
    await start();
    await locks.withLock(KEY, async () => expect((await request(`pay/${SECRET}`)).status).toBe(423));
    expect(sdk.span('lock.wait order:<id>')).toMatchObject({
      attributes: lockAttributes('order:<id>', { 'distributed_lock.outcome': 'contended' }),
      status: { code: SpanStatusCode.UNSET },
      events: [],
    });
    expect(sdk.spans.map(({ name }) => name)).not.toContain('lock.hold order:<id>');
    expect(await values('distributed_lock.contended', 'order:<id>')).toEqual([[1, undefined]]);
    const [wait] = await at('distributed_lock.wait.duration', 'order:<id>');
    expect(wait).toMatchObject({ value: 1, attributes: { 'distributed_lock.outcome': 'contended' } });
    expect(wait?.sum).toBeGreaterThan(0.015);
    expect(await values('distributed_lock.waiters', 'order:<id>')).toEqual([[0, undefined]]);
  });

  it('marks the hold of a lock that was lost, and counts it', async () => {
    await start();
    expect((await request(`lose/${SECRET}`)).status).toBe(200);
    expect(sdk.span('lock.hold lost:<id>')).toMatchObject({
      status: { code: SpanStatusCode.ERROR, message: 'it was released by force' },
      attributes: { 'distributed_lock.outcome': 'lost', 'error.type': 'LOCK_LOST' },
      events: [{ name: 'lock.lost', attributes: { 'distributed_lock.lost.reason': 'it was released by force' } }],
    });
    expect(await values('distributed_lock.lost', 'lost:<id>')).toEqual([[1, undefined]]);
    expect(await values('distributed_lock.hold.duration', 'lost:<id>')).toEqual([[1, 'lost']]);
    expect(await values('distributed_lock.held', 'lost:<id>')).toEqual([[0, undefined]]);
  });

  it('measures a hold once that its release finds lost', async () => {
    await start();
    const lock = await locks.acquire(KEY, { template: 'late' });
    await store.forceRelease(KEY);
    await lock.release();
    expect(sdk.span('lock.hold late')).toMatchObject({
      attributes: { 'distributed_lock.outcome': 'lost' },
      events: [{ name: 'lock.lost' }],
    });
    expect(await values('distributed_lock.lost', 'late')).toEqual([[1, undefined]]);
    expect(await values('distributed_lock.hold.duration', 'late')).toEqual([[1, 'released']]);
  });

  it('marks a wait that an outage ended, with the code of the cause and not its words', async () => {
    await start();
    store.acquire = () => Promise.reject(Object.assign(new Error(`no answer for ${KEY}`), { code: 'ECONNREFUSED' }));
    expect((await request(`pay/${SECRET}`)).status).toBe(503);
    expect(sdk.span('lock.wait order:<id>')).toMatchObject({
      status: { code: SpanStatusCode.ERROR, message: 'the store did not answer (ECONNREFUSED)' },
      attributes: { 'distributed_lock.outcome': 'unavailable', 'error.type': 'LOCK_UNAVAILABLE' },
      events: [
        {
          name: 'exception',
          attributes: {
            'exception.type': 'LockUnavailableError',
            'exception.message': 'the store did not answer (ECONNREFUSED)',
          },
        },
      ],
    });
    expect(await values('distributed_lock.unavailable', 'order:<id>')).toEqual([[1, undefined]]);
  });

  it('counts renewals and releases without an answer', async () => {
    await start();
    const lock = await locks.acquire(KEY, { ttl: 90, template: 'r' });
    store.renew = () => Promise.reject(new Error('no answer'));
    await sleep(60);
    expect((await values('distributed_lock.renewal_failures', 'r'))[0]?.[0]).toBeGreaterThan(0);
    await lock.release();
    const acquire = store.acquire.bind(store);
    store.acquire = async (wanted) => {
      const result = await acquire(wanted);
      if (result.acquired) result.hold.release = () => Promise.reject(new Error('no answer'));
      return result;
    };
    await locks.withLock('other', { template: 'r' }, async () => undefined);
    expect(await values('distributed_lock.release_failures', 'r')).toEqual([[1, undefined]]);
  });

  it('keeps the levels of held locks and of calls that wait', async () => {
    await start();
    const levels = async () => [
      (await at('distributed_lock.held', 'l'))[0]?.value,
      (await at('distributed_lock.waiters', 'l'))[0]?.value,
    ];
    const held = await locks.acquire(KEY, { template: 'l' });
    const leave = new AbortController();
    const next = locks.acquire(KEY, { template: 'l' });
    const given = locks.acquire(KEY, { template: 'l', signal: leave.signal });
    expect(await levels()).toEqual([1, 2]);
    leave.abort(new Error('left'));
    await expect(given).rejects.toThrow('left');
    expect(await levels()).toEqual([1, 1]);
    await held.release();
    await (await next).release();
    expect(await levels()).toEqual([0, 0]);
    const handedOff = (await at('distributed_lock.acquired', 'l')).map(({ value, attributes }) => [
      value,
      attributes['distributed_lock.handed_off'],
    ]);
    expect(handedOff).toEqual([
      [1, false],
      [1, true],
    ]);
  });

  it('knows each key of several by its own template, and a key function by none', async () => {
    await start();
    await app.get(Payments).transfer('1', '2');
    await app.get(Payments).plain(SECRET);
    const names = sdk.spans.map(({ name }) => name);
    expect(names).toEqual([
      'lock.wait from:<from>',
      'lock.wait to:<to>',
      'lock.hold from:<from>',
      'lock.hold to:<to>',
      'lock.wait',
      'lock.hold',
    ]);
    expect((await at('distributed_lock.acquired')).map(({ attributes }) => attributes)).toEqual([
      lockAttributes(undefined, { 'distributed_lock.handed_off': false }),
    ]);
  });

  it('emits every metric that it describes, and no other', async () => {
    await start();
    await locks.withLock(KEY, () => locks.forceRelease(KEY));
    const taken = await locks.acquire(KEY);
    expect(await locks.tryAcquire(KEY)).toBeNull();
    await taken.release();
    const acquire = store.acquire.bind(store);
    store.acquire = async (wanted) => {
      if (wanted.key === 'down') throw new Error('down');
      const result = await acquire(wanted);
      if (result.acquired) result.hold.release = () => Promise.reject(new Error('no answer'));
      return result;
    };
    await expect(locks.tryAcquire('down')).rejects.toThrow('down');
    await locks.withLock('r', (lock) => lock.extend('5m'));
    store.renew = () => Promise.reject(new Error('no answer'));
    await locks.withLock('r', { ttl: 90 }, () => sleep(60));
    const emitted = new Set((await sdk.points()).map(({ name }) => name));
    expect([...emitted].sort()).toEqual(Object.keys(LOCK_METRICS).sort());
    const points = await sdk.points();
    for (const [name, metric] of Object.entries(LOCK_METRICS)) {
      const own = 'attributes' in metric ? metric.attributes : [];
      const seen = points.filter((point) => point.name === name).flatMap(({ attributes }) => Object.keys(attributes));
      expect([...new Set(seen)].sort()).toEqual(['distributed_lock.backend', 'distributed_lock.store', ...own].sort());
    }
  });

  it('makes no spans, or no metrics, where they are switched off, and goes to the providers it is given', async () => {
    await start(openTelemetry({ spans: false }));
    await locks.withLock('k', async () => undefined);
    expect([sdk.spans.length, (await sdk.points()).length > 0]).toEqual([0, true]);
    await app.close();
    const other = new TelemetrySdk();
    const { tracerProvider } = other;
    const before = await sdk.points();
    await start(openTelemetry({ metrics: false, tracerProvider }));
    await locks.withLock('k', async () => undefined);
    expect([other.spans.length, sdk.spans.length]).toEqual([2, 0]);
    expect(await sdk.points()).toEqual(before);
    await other.shutdown();
  });

  it('costs nothing but itself where no SDK is registered', async () => {
    await sdk.shutdown();
    await start();
    await expect(locks.withLock('k', async () => 'ran')).resolves.toBe('ran');
    expect(sdk.spans).toEqual([]);
  });

  it('refuses what is no telemetry, and options that it does not know', async () => {
    await start();
    expect(() => openTelemetry({ meter: 1 } as never)).toThrow(/no option "meter". There are: spans, metrics/);
    const compile = Test.createTestingModule({
      imports: [LockModule.forRoot({ store: memoryStore(), telemetry: openTelemetry as never })],
    })
      .setLogger(silent)
      .compile();
    await expect(compile).rejects.toThrow(/telemetry is a function, which has no attach\(\)/);
  });
});
