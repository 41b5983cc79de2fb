import { expect, it } from '@jest/globals';
import { setTimeout as sleep } from 'node:timers/promises';
import type { SessionDialect } from '../../../lib/stores/sql/session/session.dialect.js';
import { SessionPool } from '../../../lib/stores/sql/session/session.pool.js';

const settings = {
  commandTimeout: 1_000,
  connectTimeout: 1_000,
  keepAlive: 5_000,
  maxConnections: 1,
  createTable: true,
};

it('waits for a session that is just going back to its pool, of which it takes up the only connection', async () => {
  let restore: (() => void) | undefined;
  let made = 0;
  const dialect = {
    name: 'postgres',
    shares: true,
    prepare: async () => (made += 1),
    restore: () => new Promise<void>((resolve) => (restore = resolve)),
    terminate: async () => undefined,
  } as unknown as SessionDialect;
  const connection = {
    query: async () => ({ rows: [], changes: 0 }),
    onEnded: undefined,
    release: () => undefined,
    destroy: () => undefined,
  };
  const pool = { address: 'host', connect: async () => connection, close: async () => undefined };
  const sessions = new SessionPool(dialect, pool, settings, () => undefined);
  sessions.tried(await sessions.forTry('a'));
  // It has lain idle for long enough.
  while (restore === undefined) await sleep(20);
  const next = Promise.resolve(sessions.forTry('b'));
  let settled = false;
  next.then(
    () => (settled = true),
    () => (settled = true),
  );
  await sleep(10);
  expect([settled, made]).toEqual([false, 1]);
  restore();
  expect((await next).id).toBe(2);
});
