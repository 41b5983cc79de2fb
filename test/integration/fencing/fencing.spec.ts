import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import Database from 'better-sqlite3';
import mysql from 'mysql2/promise';
import pg from 'pg';
import { LockErrorCode } from '../../../lib/errors/index.js';
import { fencedCommand, sqlFence, type FenceClient, type FenceDialect } from '../../../lib/fencing/index.js';
import { MariadbServer } from '../../support/mariadb-server.js';
import { PostgresServer } from '../../support/postgres-server.js';
import { clientFamily } from '../../support/redis-clients.js';
import { RedisServer } from '../../support/redis-server.js';

// Neighbours that doubles, which have 53 bits, cannot tell apart: a comparison by doubles would let the stale one through.
const OLD = 2n ** 62n + 1n;
const NEW = OLD + 1n;

/** Writes a balance with a token and gives the number of rows that were matched. */
type Write = (balance: number, token: bigint) => Promise<void>;

interface Bank {
  readonly write: Write;
  read(): Promise<unknown>;
}

function fencing(name: string, open: () => Promise<Bank>): void {
  describe(name, () => {
    let bank: Bank;
    beforeAll(async () => void (bank = await open()));

    it('lets larger tokens write, and the same one again', async () => {
      await bank.write(1, OLD);
      await bank.write(2, OLD);
      await bank.write(3, NEW);
      expect(Number(await bank.read())).toBe(3);
    });

    it('refuses a stale holder, and keeps what its successor wrote', async () => {
      await expect(bank.write(4, OLD)).rejects.toMatchObject({ code: LockErrorCode.Fenced, fencingToken: OLD });
      expect(Number(await bank.read())).toBe(3);
      await bank.write(5, NEW);
      expect(Number(await bank.read())).toBe(5);
    });
  });
}

const SCHEMA = 'CREATE TABLE account (id INTEGER PRIMARY KEY, balance INTEGER NOT NULL, fence BIGINT)';
const FIRST = 'INSERT INTO account (id, balance) VALUES (1, 0)';
const cleanUps: (() => unknown)[] = [];
afterAll(async () => {
  for (const cleanUp of cleanUps.reverse()) await cleanUp();
});

function update(dialect: FenceDialect, token: bigint, first: string, second: string) {
  const fence = sqlFence(dialect, token);
  const sql = `UPDATE account SET balance = ${first}, ${fence.set(second)} WHERE id = 1 AND ${fence.where(second)}`;
  return { fence, sql };
}

fencing('PostgreSQL', async () => {
  const server = await PostgresServer.start();
  const client = new pg.Client({ connectionString: server.url });
  await client.connect();
  cleanUps.push(
    () => server.stop(),
    () => client.end(),
  );
  await client.query(`${SCHEMA}; ${FIRST}`);
  return {
    write: async (balance, token) => {
      const { fence, sql } = update('postgres', token, '$1', '$2');
      fence.check((await client.query(sql, [balance, fence.value])).rowCount);
    },
    read: async () => ((await client.query('SELECT balance FROM account')).rows[0] as { balance: number }).balance,
  };
});

describe('MariaDB', () => {
  let server: MariadbServer;
  beforeAll(async () => {
    server = await MariadbServer.start();
    cleanUps.push(() => server.stop());
  });

  for (const method of ['query', 'execute'] as const) {
    fencing(`by ${method}()`, async () => {
      const client = await mysql.createConnection(server.url);
      cleanUps.push(() => client.end());
      await client.query('DROP TABLE IF EXISTS account');
      await client.query(SCHEMA);
      await client.query(FIRST);
      return {
        write: async (balance, token) => {
          const { fence, sql } = update('mysql', token, '?', '?');
          const send = client[method].bind(client) as typeof client.execute;
          const [result] = await send<mysql.ResultSetHeader>(sql, [balance, fence.value, fence.value]);
          fence.check(result.affectedRows);
        },
        read: async () => ((await client.query('SELECT balance FROM account'))[0] as { balance: number }[])[0]?.balance,
      };
    });
  }
});

fencing('SQLite', () => {
  const database = new Database(':memory:');
  cleanUps.push(() => database.close());
  database.exec(`${SCHEMA}; ${FIRST}`);
  return Promise.resolve({
    write: (balance, token) => {
      const { fence, sql } = update('sqlite', token, ':balance', ':fence');
      return Promise.resolve().then(() =>
        fence.check(database.prepare(sql).run({ balance, fence: fence.value }).changes),
      );
    },
    read: () => Promise.resolve((database.prepare('SELECT balance FROM account').get() as { balance: number }).balance),
  });
});

describe('Redis', () => {
  let server: RedisServer;
  beforeAll(async () => {
    server = await RedisServer.start();
    cleanUps.push(() => server.stop());
  });

  for (const family of ['ioredis6', 'redis6']) {
    fencing(`by ${family}`, async () => {
      const connected = await clientFamily(family).connect({ url: server.url });
      cleanUps.push(() => connected.close());
      const client = connected.client as unknown as FenceClient;
      const key = `stock:${family}`;
      return {
        write: async (balance, token) => {
          expect(await fencedCommand(client, token, ['SET', key, String(balance)])).toBe('OK');
        },
        // A read by a command of its own would need each library's own name for it.
        read: () => fencedCommand(client, NEW, ['GETRANGE', key, '0', '-1']),
      };
    });
  }

  it('remembers nothing when the command fails, and forgets a key that nobody writes', async () => {
    const connected = await clientFamily('ioredis6').connect({ url: server.url });
    cleanUps.push(() => connected.close());
    const client = connected.client as unknown as FenceClient & {
      call(name: string, ...values: string[]): Promise<unknown>;
    };
    await fencedCommand(client, OLD, ['SET', 'text', 'words']);
    await expect(fencedCommand(client, NEW, ['INCR', 'text'])).rejects.toThrow(/not an integer/);
    await fencedCommand(client, OLD, ['SET', 'text', 'other words'], { keepFor: '10s' });
    const life = Number(await client.call('PTTL', '{text}:fence'));
    expect(life).toBeGreaterThan(5_000);
    expect(life).toBeLessThanOrEqual(10_000);
  });
});
