import { EventEmitter } from 'node:events';
import { setImmediate as turn } from 'node:timers/promises';
import { beforeEach, expect, test } from '@jest/globals';
import pg from 'pg';
import { LockErrorCode } from '../../../lib/errors/index.js';
import type { PgPool } from '../../../lib/stores/postgres/index.js';
import { PgSessions } from '../../../lib/stores/postgres/postgres.pool.js';

const FATAL = Object.assign(new Error('terminating connection due to administrator command'), { code: '57P01' });

/** What would have ended the process. */
let unheard: unknown[];
let made: Client[];
/** How many clients, from the first on, the server ends with the very packet that says that they are ready. */
let doomed: number;
/** Whether clients never get an answer from their server. */
let silent: boolean;

beforeEach(() => {
  [unheard, made, doomed, silent] = [[], [], 0, false];
});

class Client extends EventEmitter {
  readonly readyForQuery = true;
  readonly _queryable = true;
  readonly number = made.push(this);

  getTransactionStatus(): string {
    return 'I';
  }

  connect(done: () => void): void {
    if (silent) return;
    setImmediate(() => {
      done();
      if (this.number <= doomed) this.fail();
    });
  }

  isConnected(): boolean {
    return true;
  }

  async query(): Promise<pg.QueryResult> {
    return { rows: [{ client: this.number }], rowCount: 1 } as unknown as pg.QueryResult;
  }

  /** As pg does when the server says so while nothing is under way. */
  fail(): void {
    try {
      this.emit('error', FATAL);
    } catch (error) {
      unheard.push(error);
    }
  }

  end(done?: () => void): void {
    done?.();
  }
}

const poolOf = (max: number): pg.Pool => new pg.Pool({ max, Client: Client as unknown as new () => pg.Client });

function sessionsOf(pool: unknown): PgSessions {
  return new PgSessions({ pool: pool as PgPool }, 'db:5432');
}

test('a connection that the server ends in the moment it is there ends nothing else, and another is taken', async () => {
  doomed = 2;
  const pool = poolOf(5);
  const connection = await sessionsOf(pool).connect(1_000);
  await turn();
  expect(unheard).toEqual([]);
  expect((await connection.query('SELECT 1', [], 1_000)).rows).toEqual([{ client: 3 }]);
  connection.release();
  expect([pool.totalCount, pool.idleCount]).toEqual([1, 1]);
});

test('so does one that ends in the moment in which it is handed on', async () => {
  const pool = poolOf(1);
  const others = await pool.connect();
  const connecting = sessionsOf(pool).connect(1_000);
  await turn();
  others.release();
  (others as unknown as Client).fail();
  const connection = await connecting;
  expect(unheard).toEqual([]);
  expect((await connection.query('SELECT 1', [], 1_000)).rows).toEqual([{ client: 2 }]);
  connection.release();
});

test('a pool that ends every connection at once is given up in time', async () => {
  doomed = Infinity;
  const error: unknown = await sessionsOf(poolOf(2))
    .connect(50)
    .catch((reason: unknown) => reason);
  expect(error).toMatchObject({ code: LockErrorCode.Unavailable, message: expect.stringContaining('within 50 ms') });
  expect(unheard).toEqual([]);
});

test('a client that comes when nobody waits for it any more goes back to its pool', async () => {
  const pool = poolOf(1);
  const others = await pool.connect();
  await expect(sessionsOf(pool).connect(10)).rejects.toMatchObject({ code: LockErrorCode.Unavailable });
  others.release();
  await turn();
  expect([pool.totalCount, pool.idleCount, pool.waitingCount]).toEqual([1, 1, 0]);
});

test('a wrapper whose connect() gives promises only will do', async () => {
  const pool = poolOf(1);
  const sessions = sessionsOf({
    connect: async () => pool.connect(),
    on: pool.on.bind(pool),
    removeListener: pool.removeListener.bind(pool),
  });
  const connection = await sessions.connect(1_000);
  await expect(sessions.connect(10)).rejects.toThrow('no connection');
  connection.release();
  await turn();
  expect(pool.idleCount).toBe(1);
});

test('a pool that is exhausted is told from a server that does not answer', async () => {
  const pool = poolOf(2);
  const taken = [await pool.connect(), await pool.connect()];
  await expect(sessionsOf(pool).connect(20)).rejects.toMatchObject({
    code: LockErrorCode.Unavailable,
    retryable: true,
    message: expect.stringMatching(/all 2 connections of the pool .*in use.* within 20 ms/),
  });
  for (const client of taken) client.release();
  silent = true;
  await expect(sessionsOf(poolOf(1)).connect(20)).rejects.toThrow(
    'no connection to PostgreSQL at db:5432 within 20 ms',
  );
});
