import { describe, expect, it } from '@jest/globals';
import { RedisConnection } from '../../../lib/stores/redis/redis.connection.js';
import type { ConnectionListener, RedisDriver, RedisNode } from '../../../lib/stores/redis/redis.driver.js';
import { renewScript } from '../../../lib/stores/redis/scripts/index.js';

class FakeDriver implements RedisDriver, RedisNode {
  readonly clustered = false;
  ordered = true;
  readonly address = 'host:1';
  readonly advice = 'it was closed';
  status = 'ready';
  readonly sent: string[] = [];
  readonly listeners = new Set<ConnectionListener>();
  answer: (call: string) => Promise<unknown> = async () => 'done';

  get ready() {
    return this.status === 'ready';
  }
  get ended() {
    return this.status === 'end';
  }
  start() {
    this.sent.push('start');
  }
  listen(listener: ConnectionListener) {
    this.listeners.add(listener);
    return () => void this.listeners.delete(listener);
  }
  evalsha() {
    this.sent.push('evalsha');
    return this.answer('evalsha');
  }
  eval() {
    this.sent.push('eval');
    return this.answer('eval');
  }
  async node() {
    return this;
  }
  command(name: string) {
    this.sent.push(name);
    return this.answer(name);
  }
  subscriber(): never {
    throw new Error('not here');
  }
  quit = async () => undefined;
  destroy = () => undefined;
}

async function later<T>(ms: number, settle: () => T | Promise<T>): Promise<T> {
  await new Promise((resolve) => setTimeout(resolve, ms));
  return settle();
}
const noScript = () => Promise.reject(new Error('NOSCRIPT No matching script'));

describe('a request', () => {
  it('is sent by digest, and by source where the server does not know it', async () => {
    const driver = new FakeDriver();
    const connection = new RedisConnection(driver, { commandTimeout: 100 });
    expect(await connection.run(renewScript, [], [])).toMatchObject({ reply: 'done' });
    driver.answer = (call) => (call === 'evalsha' ? noScript() : Promise.resolve('by source'));
    expect(await connection.run(renewScript, [], [])).toMatchObject({ reply: 'by source' });
    expect(driver.sent).toEqual(['evalsha', 'evalsha', 'eval']);
  });

  it('is not sent again once it was given up, since what came after it must not be overtaken', async () => {
    const driver = new FakeDriver();
    driver.answer = () => later(60, noScript);
    await expect(new RedisConnection(driver, { commandTimeout: 30 }).run(renewScript, [], [])).rejects.toMatchObject({
      retryable: true,
    });
    await later(80, () => undefined);
    expect(driver.sent).toEqual(['evalsha']);
  });

  it('has one bound for both tries', async () => {
    const driver = new FakeDriver();
    driver.answer = (call) => later(40, () => (call === 'evalsha' ? noScript() : 'late'));
    const start = performance.now();
    await expect(new RedisConnection(driver, { commandTimeout: 60 }).run(renewScript, [], [])).rejects.toThrow(
      /did not answer within 60 ms/,
    );
    expect(performance.now() - start).toBeLessThan(100);
  });

  it('fails like any other when the client throws', async () => {
    const driver = new FakeDriver();
    driver.answer = () => {
      throw new Error('the client is closed');
    };
    await expect(new RedisConnection(driver, { commandTimeout: 60 }).run(renewScript, [], [])).rejects.toMatchObject({
      code: 'LOCK_UNAVAILABLE',
      message: 'redis at host:1: the client is closed',
    });
  });
});

describe('a connection that is down', () => {
  it('is never handed a command; those who wait share one set of listeners', async () => {
    const driver = new FakeDriver();
    driver.status = 'reconnecting';
    const connection = new RedisConnection(driver, { commandTimeout: 50 });
    const results = await Promise.allSettled([1, 2, 3].map(() => connection.run(renewScript, [], [])));
    expect(results.map(({ status }) => status)).toEqual(['rejected', 'rejected', 'rejected']);
    expect(driver.sent).not.toContain('evalsha');
    const waiting = [1, 2, 3].map(() => connection.run(renewScript, [], []));
    expect(driver.listeners.size).toBe(1);
    driver.status = 'ready';
    driver.listeners.forEach((listener) => listener.ready());
    await Promise.all(waiting);
    expect(driver.listeners.size).toBe(0);
  });

  it('tells why, where it has heard why', async () => {
    const driver = new FakeDriver();
    driver.status = 'reconnecting';
    const waiting = new RedisConnection(driver, { commandTimeout: 30 }).run(renewScript, [], []);
    driver.listeners.forEach((listener) => listener.failed(new Error('connect ECONNREFUSED')));
    await expect(waiting).rejects.toMatchObject({
      message: 'redis at host:1 is not reachable (status reconnecting): connect ECONNREFUSED',
      cause: { message: 'connect ECONNREFUSED' },
      retryable: true,
    });
  });

  it('fails at once when it is refused for good, or will not come back', async () => {
    const driver = new FakeDriver();
    driver.status = 'reconnecting';
    const connection = new RedisConnection(driver, { commandTimeout: 10_000 });
    const refused = connection.run(renewScript, [], []);
    driver.listeners.forEach((listener) => listener.failed(new Error('WRONGPASS invalid')));
    await expect(refused).rejects.toMatchObject({ retryable: false });
    const ended = connection.run(renewScript, [], []);
    driver.status = 'end';
    driver.listeners.forEach((listener) => listener.ended());
    await expect(ended).rejects.toThrow(/is not connected \(status end\): it was closed/);
    await expect(connection.run(renewScript, [], [])).rejects.toThrow(/is not connected/);
  });
});

describe('replicas that must confirm', () => {
  const waitReplicas = { count: 2, timeout: 50 };
  const confirms = (): boolean => true;
  const connectionOf = (driver: FakeDriver) => new RedisConnection(driver, { commandTimeout: 100, waitReplicas });

  it('are asked on the connection that the script was sent on', async () => {
    const driver = new FakeDriver();
    driver.answer = async (call) => (call === 'WAIT' ? 2 : 'id=7 addr=a:1 laddr=b:2 age=1');
    expect(await connectionOf(driver).run(renewScript, ['key'], [], { confirms })).toHaveProperty('reply');
    expect(driver.sent).toEqual(['CLIENT', 'evalsha', 'WAIT', 'CLIENT']);
  });

  it('are not asked about what changed nothing', async () => {
    const driver = new FakeDriver();
    await connectionOf(driver).run(renewScript, ['key'], [], { confirms: () => false });
    expect(driver.sent).toEqual(['CLIENT', 'evalsha']);
  });

  it('must be as many as were asked for', async () => {
    const driver = new FakeDriver();
    driver.answer = async (call) => (call === 'WAIT' ? 1 : 'id=7 addr=a:1 laddr=b:2');
    await expect(connectionOf(driver).run(renewScript, ['key'], [], { confirms })).rejects.toMatchObject({
      message: 'redis at host:1: 1 of 2 replicas confirmed the lock within 50 ms (waitReplicas)',
      retryable: true,
    });
  });

  it('are asked once for all that was written while they were being asked', async () => {
    const driver = new FakeDriver();
    const confirm: (() => void)[] = [];
    driver.answer = async (call) => {
      if (call !== 'WAIT') return 'id=7 addr=a:1 laddr=b:2';
      await new Promise<void>((resolve) => confirm.push(resolve));
      return 2;
    };
    const connection = new RedisConnection(driver, { commandTimeout: 60_000, waitReplicas });
    const run = () => connection.run(renewScript, ['key'], [], { confirms });
    const settle = () => later(1, () => undefined);
    const first = run();
    await settle();
    const others = Array.from({ length: 20 }, run);
    await settle();
    expect(confirm).toHaveLength(1);
    confirm[0]?.();
    await first;
    await settle();
    expect(confirm).toHaveLength(2);
    confirm[1]?.();
    await Promise.all(others);
    const last = run();
    await settle();
    expect(confirm).toHaveLength(3);
    confirm[2]?.();
    await last;
  });

  it('say nothing on a new connection, which has written nothing', async () => {
    const driver = new FakeDriver();
    let connection = 7;
    driver.answer = async (call) => (call === 'WAIT' ? 2 : `id=${connection++} addr=a:1 laddr=b:2`);
    await expect(connectionOf(driver).run(renewScript, ['key'], [], { confirms })).rejects.toThrow(
      /the connection was lost before replicas confirmed/,
    );
  });
});

describe('a library that sends again what has failed', () => {
  it('has settled what was given up before anything counts as done after it', async () => {
    const driver = new FakeDriver();
    driver.ordered = false;
    driver.answer = () => later(60, () => 'late');
    const connection = new RedisConnection(driver, { commandTimeout: 30 });
    await connection.settled('key');
    await expect(connection.run(renewScript, ['key'], [])).rejects.toThrow(/did not answer/);
    await expect(connection.settled('another')).resolves.toBeUndefined();
    const start = performance.now();
    await connection.settled('key');
    expect(performance.now() - start).toBeGreaterThan(5);
    await expect(connection.settled('key')).resolves.toBeUndefined();
  });

  it('is not waited for without a bound', async () => {
    const driver = new FakeDriver();
    driver.ordered = false;
    driver.answer = () => new Promise(() => undefined);
    const connection = new RedisConnection(driver, { commandTimeout: 20 });
    await expect(connection.run(renewScript, ['key'], [])).rejects.toThrow(/did not answer/);
    await expect(connection.settled('key')).rejects.toThrow(/an earlier request may be carried out still/);
  });
});
