import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import mysql from 'mysql2/promise';
import { LockErrorCode } from '../../../lib/errors/index.js';
import { lockInTransaction, LockTransactionError, transactionSchema } from '../../../lib/transaction/index.js';
import { sharedMariadb } from '../../support/mariadb-server.js';
import { TcpProxy } from '../../support/tcp-proxy.js';

let server: Awaited<ReturnType<typeof sharedMariadb>>;
const connections: mysql.Connection[] = [];

async function connect(url = server.url): Promise<mysql.Connection> {
  const connection = await mysql.createConnection(url);
  connection.on('error', () => undefined);
  connections.push(connection);
  return connection;
}

async function begin(): Promise<mysql.Connection> {
  const tx = await connect();
  await tx.query('START TRANSACTION');
  return tx;
}

async function one(connection: mysql.Connection, text: string): Promise<Record<string, unknown>> {
  const [rows] = await connection.query(text);
  return (rows as Record<string, unknown>[])[0]!;
}

const BOUNDS = 'SELECT @@innodb_lock_wait_timeout AS rows_, @@max_statement_time AS statements';
const inTransaction = async (tx: mysql.Connection): Promise<boolean> =>
  Number((await one(tx, 'SELECT @@in_transaction AS yes'))['yes']) === 1;

/** A connection as it would be to MySQL 8, which has no limits on a statement and only whole seconds. */
function asMysql(connection: mysql.Connection, log: string[] = []) {
  return {
    dialect: 'mysql' as const,
    query: async (text: string): Promise<unknown> => {
      log.push(text);
      if (text.includes('VERSION()')) return [{ ...(await one(connection, text)), server: '8.0.36' }];
      return connection.query(text);
    },
  };
}

beforeAll(async () => {
  server = await sharedMariadb();
  const connection = await connect();
  for (const statement of transactionSchema('mariadb')) await connection.query(statement);
  await connection.query('CREATE TABLE IF NOT EXISTS counter (id VARCHAR(64) PRIMARY KEY, value INT NOT NULL)');
}, 90_000);
afterAll(async () => {
  for (const connection of connections) connection.destroy();
  await server?.stop();
});

describe('lockInTransaction on MariaDB', () => {
  it("leaves the session's time-outs as they were, whether it gets the lock or not", async () => {
    const key = randomUUID();
    const [holder, tx] = [await begin(), await begin()];
    await tx.query('SET SESSION innodb_lock_wait_timeout = 17, max_statement_time = 19');
    const before = await one(tx, BOUNDS);
    await lockInTransaction(holder, key);
    await lockInTransaction(tx, `${key}:free`);
    await expect(lockInTransaction(tx, key, { wait: 50 })).rejects.toMatchObject({ code: LockErrorCode.Contended });
    await expect(lockInTransaction(tx, key, { wait: 0 })).rejects.toMatchObject({ code: LockErrorCode.Contended });
    expect(await one(tx, BOUNDS)).toEqual(before);
    await Promise.all([tx.query('COMMIT'), holder.query('COMMIT')]);
  });

  it('waits for ever when asked to', async () => {
    const key = randomUUID();
    const [holder, tx] = [await begin(), await begin()];
    await tx.query('SET SESSION innodb_lock_wait_timeout = 1');
    await lockInTransaction(holder, key);
    const lock = lockInTransaction(tx, key, { wait: Infinity });
    await sleep(1_300);
    await holder.query('COMMIT');
    await expect(lock).resolves.toMatchObject({ key });
    await tx.query('COMMIT');
  });

  it('turns a deadlock into a typed error that tells that the transaction is gone', async () => {
    const [a, b] = [randomUUID(), randomUUID()];
    const [first, second] = [await begin(), await begin()];
    await lockInTransaction(first, a);
    await lockInTransaction(second, b);
    const attempt = (tx: mysql.Connection, key: string) =>
      lockInTransaction(tx, key, { wait: '10s' }).then(
        async () => ({ inside: await inTransaction(tx) }),
        async (error: unknown) => ({ error, inside: await inTransaction(tx) }),
      );
    const outcomes = await Promise.all([attempt(first, b), attempt(second, a)]);
    const [failed] = outcomes.filter((outcome) => 'error' in outcome);
    expect(outcomes.filter(({ inside }) => inside)).toHaveLength(1);
    expect(failed).toMatchObject({ error: { reason: 'deadlock', transaction: 'rolled-back' }, inside: false });
    expect((failed as { error: unknown }).error).toBeInstanceOf(LockTransactionError);
    await Promise.all([first.query('ROLLBACK'), second.query('ROLLBACK')]);
  });

  it('tells when the server rolls back the whole transaction at a time-out', async () => {
    const tx = await begin();
    const query = async (text: string): Promise<unknown> => {
      if (!text.includes('INSERT')) return tx.query(text);
      // What innodb_rollback_on_timeout does.
      await tx.query('ROLLBACK');
      throw Object.assign(new Error('Lock wait timeout exceeded'), { errno: 1205 });
    };
    await expect(lockInTransaction({ dialect: 'mysql', query }, 'k')).rejects.toMatchObject({
      reason: 'timeout',
      transaction: 'rolled-back',
    });
  });

  it('keeps a lock on a row that was there, but not on one of its own, past the way back to an older savepoint', async () => {
    const key = randomUUID();
    const [tx, other] = [await begin(), await begin()];
    // With nothing done before the savepoint, InnoDB would roll back the whole transaction, locks included.
    await lockInTransaction(tx, `${key}:first`);
    await tx.query('SAVEPOINT mine');
    await lockInTransaction(tx, key);
    await tx.query('ROLLBACK TO SAVEPOINT mine');
    await lockInTransaction(other, key, { wait: 0 });
    await other.query('COMMIT');

    await lockInTransaction(tx, key, { wait: 0 });
    await tx.query('COMMIT');
    await tx.query('START TRANSACTION');
    await lockInTransaction(tx, `${key}:first`);
    await tx.query('SAVEPOINT mine');
    await lockInTransaction(tx, key);
    await tx.query('ROLLBACK TO SAVEPOINT mine');
    await other.query('START TRANSACTION');
    await expect(lockInTransaction(other, key, { wait: 0 })).rejects.toMatchObject({ code: LockErrorCode.Contended });
    await Promise.all([tx.query('COMMIT'), other.query('COMMIT')]);
  });

  it('reports a connection that is killed while it waits as an outage, and leaves nothing held', async () => {
    const key = randomUUID();
    const [holder, tx, third] = [await begin(), await begin(), await begin()];
    await lockInTransaction(holder, key);
    const lock = lockInTransaction(tx, key);
    lock.catch(() => undefined);
    await sleep(100);
    await third.query(`KILL ${tx.threadId}`);
    await expect(lock).rejects.toMatchObject({ code: LockErrorCode.Unavailable, key });
    await holder.query('COMMIT');
    await lockInTransaction(third, key, { wait: 0 });
    await third.query('COMMIT');
  });

  it('tells a cancelled wait from contention', async () => {
    const key = randomUUID();
    const [holder, tx] = [await begin(), await begin()];
    await lockInTransaction(holder, key);
    const lock = lockInTransaction(tx, key);
    lock.catch(() => undefined);
    await sleep(100);
    await holder.query(`KILL QUERY ${tx.threadId}`);
    await expect(lock).rejects.toMatchObject({ code: LockErrorCode.Unavailable });
    expect(await inTransaction(tx)).toBe(true);
    await Promise.all([tx.query('COMMIT'), holder.query('COMMIT')]);
  });

  it('is bounded when the server does not answer at all', async () => {
    const { hostname, port } = new URL(server.url);
    const proxy = await TcpProxy.start(Number(port), hostname);
    const url = new URL(server.url);
    url.host = `127.0.0.1:${proxy.port}`;
    const tx = await connect(url.href);
    await tx.query('START TRANSACTION');
    proxy.blackHole();
    const start = performance.now();
    const lock = lockInTransaction(tx, 'k', { wait: 100, commandTimeout: 200 });
    await expect(lock).rejects.toMatchObject({ code: LockErrorCode.Unavailable });
    expect(performance.now() - start).toBeLessThan(500);
    await proxy.stop();
  });

  it('lets two calls on one connection take turns: the one that times out does not undo the other', async () => {
    const [a, b, c] = [randomUUID(), randomUUID(), randomUUID()];
    const [holder, tx] = [await begin(), await begin()];
    await lockInTransaction(holder, b);
    const all = await Promise.allSettled([a, b, c].map((key) => lockInTransaction(tx, key, { wait: 100 })));
    expect(all.map(({ status }) => status)).toEqual(['fulfilled', 'rejected', 'fulfilled']);
    for (const key of [a, c]) {
      await expect(lockInTransaction(holder, key, { wait: 0 })).rejects.toMatchObject({ code: 'LOCK_CONTENDED' });
    }
    await Promise.all([tx.query('COMMIT'), holder.query('COMMIT')]);
  });

  it('tells keys apart byte by byte', async () => {
    const base = randomUUID();
    const long = `${base}${'x'.repeat(100_000)}`;
    const keys = [
      base,
      base.toUpperCase(),
      `${base} `,
      `${base}\0`,
      `${base}'";--`,
      `${base}ß`,
      `${base}😀`,
      long,
      `${long}y`,
    ];
    const held = await begin();
    for (const key of keys) {
      const tx = await begin();
      await lockInTransaction(tx, key, { wait: 0 });
      await tx.query('ROLLBACK');
      await lockInTransaction(held, key, { wait: 0 });
    }
    await held.query('ROLLBACK');
  });

  it('says so when its table is missing, and the transaction goes on', async () => {
    const tx = await begin();
    await expect(lockInTransaction(tx, 'k', { table: 'there_is_none' })).rejects.toMatchObject({
      code: LockErrorCode.Unavailable,
      retryable: false,
      message: expect.stringContaining('transactionSchema()'),
    });
    expect(await inTransaction(tx)).toBe(true);
    await tx.query('COMMIT');
  });

  it('refuses tables whose engine locks no rows, and names the table, the engine and the fix', async () => {
    const tx = await connect();
    await tx.query('DROP TABLE IF EXISTS tx_isam, tx_isam_fence, tx_memory, tx_memory_fence');
    for (const statement of transactionSchema('mysql', 'tx_isam')) {
      await tx.query(statement.replace('InnoDB', 'MyISAM'));
    }
    for (const statement of transactionSchema('mysql', 'tx_memory')) await tx.query(statement);
    await tx.query('ALTER TABLE tx_memory_fence ENGINE=MEMORY');
    await tx.query('START TRANSACTION');
    const refusal = (table: string, engine: string) => ({
      code: LockErrorCode.Options,
      message: expect.stringMatching(new RegExp(`"${table}" is ${engine}.*ALTER TABLE \`${table}\` ENGINE=InnoDB`)),
    });
    // Each time: only what was found to be right is remembered.
    for (const key of ['k', 'k', 'another']) {
      await expect(lockInTransaction(tx, key, { table: 'tx_isam' })).rejects.toMatchObject(
        refusal('tx_isam', 'MyISAM'),
      );
    }
    await lockInTransaction(tx, 'k', { table: 'tx_memory' });
    await expect(lockInTransaction(tx, 'k', { table: 'tx_memory', fencing: true })).rejects.toMatchObject(
      refusal('tx_memory_fence', 'MEMORY'),
    );
    expect(await inTransaction(tx)).toBe(true);
    await tx.query('ROLLBACK');
    await tx.query('ALTER TABLE tx_isam ENGINE=InnoDB');
    await tx.query('START TRANSACTION');
    await lockInTransaction(tx, 'k', { table: 'tx_isam' });
    await tx.query('COMMIT');
    await tx.query('DROP TABLE tx_isam, tx_isam_fence, tx_memory, tx_memory_fence');
  });

  it('asks for the engine once for each table and database', async () => {
    const tx = await connect();
    for (const statement of transactionSchema('mysql', 'tx_once')) await tx.query(statement);
    await tx.query('CREATE OR REPLACE DATABASE tx_other');
    const log: string[] = [];
    const query = (text: string): Promise<unknown> => {
      log.push(text);
      return tx.query(text);
    };
    const adapter = { dialect: 'mysql' as const, query };
    const asked = (): number => log.filter((text) => text.includes('information_schema')).length;
    const { database } = await one(tx, 'SELECT DATABASE() AS `database`');
    await tx.query('START TRANSACTION');
    for (const key of ['a', 'b', 'a']) await lockInTransaction(adapter, key);
    expect(asked()).toBe(1);
    for (const key of ['a', 'b', 'a']) await lockInTransaction(adapter, key, { table: 'tx_once', fencing: true });
    expect(asked()).toBe(3);
    await tx.query('COMMIT');
    await tx.query('USE tx_other');
    for (const statement of transactionSchema('mysql')) {
      await tx.query(statement.replace('InnoDB', 'MyISAM'));
    }
    await tx.query('START TRANSACTION');
    await expect(lockInTransaction(adapter, 'a')).rejects.toMatchObject({ code: LockErrorCode.Options });
    await tx.query('ROLLBACK');
    await tx.query(`USE \`${String(database)}\``);
    await tx.query('DROP TABLE tx_once, tx_once_fence');
    await tx.query('DROP DATABASE tx_other');
  });

  it("warns that the transaction is gone when the row is newer than the session's snapshot", async () => {
    const [key, id] = [randomUUID(), randomUUID()];
    const [other, tx] = [await begin(), await connect()];
    await tx.query('SET SESSION innodb_snapshot_isolation = ON');
    await tx.query('START TRANSACTION');
    await tx.query(`INSERT INTO counter (id, value) VALUES ('${id}', 1)`);
    await tx.query('SELECT COUNT(*) FROM distributed_lock_tx');
    await lockInTransaction(other, key);
    await other.query('COMMIT');
    await expect(lockInTransaction(tx, key)).rejects.toMatchObject({
      reason: 'conflict',
      transaction: 'rolled-back',
      message: expect.stringMatching(/rolled back as a whole.*committed at once/),
    });
    expect(await inTransaction(tx)).toBe(false);
    expect(await one(tx, `SELECT COUNT(*) AS count FROM counter WHERE id = '${id}'`)).toMatchObject({ count: 0 });
  });

  it('says that the transaction goes on where the server has kept it', async () => {
    const tx = await begin();
    const query = async (text: string): Promise<unknown> => {
      if (!text.includes('INSERT')) return tx.query(text);
      throw Object.assign(new Error('Record has changed since last read'), { errno: 1020 });
    };
    await expect(lockInTransaction({ dialect: 'mysql', query }, 'k')).rejects.toMatchObject({
      reason: 'conflict',
      transaction: 'usable',
      message: expect.not.stringContaining('committed at once'),
    });
    await tx.query('COMMIT');
  });

  it("keeps the caller's savepoints, whatever they are called", async () => {
    const [key, id] = [randomUUID(), randomUUID()];
    const [holder, tx] = [await begin(), await begin()];
    await lockInTransaction(holder, key);
    await tx.query(`INSERT INTO counter (id, value) VALUES ('${id}', 1)`);
    await tx.query('SAVEPOINT nestjs_distributed_lock');
    await tx.query(`UPDATE counter SET value = 2 WHERE id = '${id}'`);
    await lockInTransaction(tx, `${key}:free`);
    await expect(lockInTransaction(tx, key, { wait: 0 })).rejects.toMatchObject({ code: LockErrorCode.Contended });
    await tx.query('ROLLBACK TO SAVEPOINT nestjs_distributed_lock');
    await tx.query('COMMIT');
    expect(await one(tx, `SELECT value FROM counter WHERE id = '${id}'`)).toMatchObject({ value: 1 });
    await holder.query('COMMIT');
  });

  it("waits for as long as it was asked to, past the session's own max_statement_time", async () => {
    const key = randomUUID();
    const [holder, tx] = [await begin(), await begin()];
    await tx.query('SET SESSION max_statement_time = 1');
    await lockInTransaction(holder, key);
    const lock = lockInTransaction(tx, key, { wait: '30s' });
    await sleep(1_500);
    await holder.query('COMMIT');
    await expect(lock).resolves.toMatchObject({ key });
    await tx.query('COMMIT');
  });

  it('understands a connection that gives its rows and values in another form', async () => {
    const key = randomUUID();
    const forms = [{ rowsAsArray: true }, { nestTables: true }, { nestTables: '_' }, { typeCast: () => 'nonsense' }];
    const holder = await begin();
    await lockInTransaction(holder, key);
    for (const form of forms) {
      const tx = await mysql.createConnection({ uri: server.url, ...(form as object) });
      connections.push(tx);
      await tx.query('SET SESSION innodb_lock_wait_timeout = 17');
      await tx.query('START TRANSACTION');
      await lockInTransaction(tx, randomUUID(), { fencing: true });
      await expect(lockInTransaction(tx, key, { wait: 0 })).rejects.toMatchObject({ code: LockErrorCode.Contended });
      await tx.query('COMMIT');
    }
    await holder.query('COMMIT');
  });

  it('takes a session without autocommit for a transaction', async () => {
    const key = randomUUID();
    const [tx, other] = [await connect(), await begin()];
    await tx.query('SET autocommit = 0');
    await lockInTransaction(tx, key);
    await expect(lockInTransaction(other, key, { wait: 0 })).rejects.toMatchObject({ code: LockErrorCode.Contended });
    await tx.query('COMMIT');
    await lockInTransaction(other, key, { wait: 0 });
    await other.query('COMMIT');
  });

  it('opens no snapshot: what is read after the lock is what the last holder committed', async () => {
    const [key, id] = [randomUUID(), randomUUID()];
    const [holder, tx] = [await begin(), await begin()];
    await lockInTransaction(holder, key);
    const lock = lockInTransaction(tx, key);
    await sleep(50);
    await holder.query(`INSERT INTO counter (id, value) VALUES ('${id}', 1)`);
    await holder.query('COMMIT');
    await lock;
    expect(await one(tx, `SELECT value FROM counter WHERE id = '${id}'`)).toMatchObject({ value: 1 });
    await tx.query('COMMIT');
  });

  it('passes on, or ends in a typed deadlock, when the transaction that inserted the row rolls back', async () => {
    const key = randomUUID();
    const first = await begin();
    await lockInTransaction(first, key);
    let inside = 0;
    const others = Array.from({ length: 5 }, async () => {
      const tx = await begin();
      await lockInTransaction(tx, key);
      expect((inside += 1)).toBe(1);
      await sleep(10);
      inside -= 1;
      await tx.query('ROLLBACK');
    });
    await sleep(150);
    await first.query('ROLLBACK');
    const outcomes = await Promise.allSettled(others);
    const failed = outcomes.filter((outcome) => outcome.status === 'rejected');
    for (const { reason } of failed) expect(reason).toMatchObject({ reason: 'deadlock', transaction: 'rolled-back' });
    expect(failed.length).toBeLessThan(5);
  });

  it('passes from one to the next when the row was there, though each of them rolls back', async () => {
    const key = randomUUID();
    const first = await begin();
    await lockInTransaction(first, key);
    await first.query('COMMIT');
    await first.query('START TRANSACTION');
    await lockInTransaction(first, key);
    const others = Array.from({ length: 5 }, async () => {
      const tx = await begin();
      await lockInTransaction(tx, key);
      await tx.query('ROLLBACK');
    });
    await sleep(100);
    await first.query('ROLLBACK');
    await Promise.all(others);
  });

  it('draws a larger token after a holder that was killed (S9)', async () => {
    const key = randomUUID();
    const [tx, next] = [await begin(), await begin()];
    const { fencingToken } = await lockInTransaction(tx, key, { fencing: true });
    await next.query(`KILL ${tx.threadId}`);
    const later = await lockInTransaction(next, key, { fencing: true });
    expect(later.fencingToken).toBeGreaterThan(fencingToken!);
    await next.query('COMMIT');
    expect(await one(next, 'SELECT COUNT(*) AS count FROM distributed_lock_tx_fence')).toMatchObject({ count: 0 });
  });
});

describe('lockInTransaction as it talks to MySQL 8', () => {
  it('rounds the wait up to whole seconds, and puts the time-out back', async () => {
    const key = randomUUID();
    const [holder, tx] = [await begin(), await begin()];
    await lockInTransaction(holder, key);
    await tx.query('SET SESSION innodb_lock_wait_timeout = 17');
    for (const wait of [0, 300]) {
      const start = performance.now();
      const log: string[] = [];
      await expect(lockInTransaction(asMysql(tx, log), key, { wait })).rejects.toMatchObject({
        code: 'LOCK_CONTENDED',
      });
      expect(performance.now() - start).toBeGreaterThan(900);
      expect(performance.now() - start).toBeLessThan(1_500);
      expect(log).toContain('SET SESSION innodb_lock_wait_timeout = 1');
      expect(await one(tx, BOUNDS)).toMatchObject({ rows_: 17 });
    }
    expect(await inTransaction(tx)).toBe(true);
    const lock = lockInTransaction(asMysql(tx), key);
    await holder.query('COMMIT');
    await lock;
    expect(await one(tx, BOUNDS)).toMatchObject({ rows_: 17 });
    await tx.query('COMMIT');
  });

  it('names the reason when statements are prepared, which MySQL does not do with savepoints', async () => {
    const query = async (): Promise<never> => {
      throw Object.assign(new Error('This command is not supported in the prepared statement protocol yet'), {
        errno: 1295,
      });
    };
    await expect(lockInTransaction({ dialect: 'mysql', query }, 'k')).rejects.toMatchObject({
      code: LockErrorCode.Options,
      message: expect.stringContaining('prepares its statements'),
    });
  });
});
