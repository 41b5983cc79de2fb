import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { createHash, randomUUID } from 'node:crypto';
import pg from 'pg';
import { LockErrorCode } from '../../../lib/errors/index.js';
import { lockInTransaction, LockTransactionError, transactionSchema } from '../../../lib/transaction/index.js';
import { TcpProxy } from '../../support/tcp-proxy.js';
import { PgBouncer } from '../../support/pgbouncer.js';
import { sharedPostgres } from '../../support/postgres-server.js';

let server: Awaited<ReturnType<typeof sharedPostgres>>;
const clients: pg.Client[] = [];

async function connect(url = server.url): Promise<pg.Client> {
  const client = new pg.Client(url);
  client.on('error', () => undefined);
  await client.connect();
  clients.push(client);
  return client;
}

async function begin(client?: pg.Client, how = 'BEGIN'): Promise<pg.Client> {
  const tx = client ?? (await connect());
  await tx.query(how);
  return tx;
}

const setting = async (client: pg.Client, name: string): Promise<string> =>
  (await client.query(`SHOW ${name}`)).rows[0][name];

/** Until a session waits for a lock. */
async function waits(client: pg.Client): Promise<void> {
  const watcher = await connect();
  const pid = (client as unknown as { processID: number }).processID;
  for (;;) {
    const { rows } = await watcher.query('SELECT 1 FROM pg_locks WHERE pid = $1 AND NOT granted', [pid]);
    if (rows.length > 0) return;
  }
}

beforeAll(async () => {
  server = await sharedPostgres();
  const client = await connect();
  for (const statement of transactionSchema('postgres')) await client.query(statement);
});
afterAll(async () => {
  await Promise.all(clients.map((client) => client.end().catch(() => undefined)));
  await server?.stop();
});

describe.each(['advisory', 'row'] as const)('lockInTransaction on PostgreSQL, %s', (mode) => {
  it('leaves lock_timeout as it was, whether it gets the lock or not', async () => {
    const key = randomUUID();
    const holder = await begin();
    await lockInTransaction(holder, key, { mode });
    const tx = await begin();
    expect(await setting(tx, 'lock_timeout')).toBe('0');
    await lockInTransaction(tx, `${key}:free`, { mode });
    expect(await setting(tx, 'lock_timeout')).toBe('0');
    await tx.query("SET LOCAL lock_timeout = '1234ms'");
    await lockInTransaction(tx, `${key}:free too`, { mode });
    await lockInTransaction(tx, `${key}:free as well`, { mode, wait: 0 });
    expect(await setting(tx, 'lock_timeout')).toBe('1234ms');
    await expect(lockInTransaction(tx, key, { mode, wait: 50 })).rejects.toMatchObject({ code: 'LOCK_CONTENDED' });
    await expect(lockInTransaction(tx, key, { mode, wait: 0 })).rejects.toMatchObject({ code: 'LOCK_CONTENDED' });
    expect(await setting(tx, 'lock_timeout')).toBe('1234ms');
    await tx.query('COMMIT');
    expect(await setting(tx, 'lock_timeout')).toBe('0');
    await holder.query('ROLLBACK');
  });

  it("keeps the caller's savepoints, whatever they are called", async () => {
    const key = randomUUID();
    const [holder, tx] = [await begin(), await begin()];
    await lockInTransaction(holder, key, { mode });
    await tx.query('SAVEPOINT nestjs_distributed_lock');
    await lockInTransaction(tx, `${key}:free`, { mode });
    await expect(lockInTransaction(tx, key, { mode, wait: 0 })).rejects.toMatchObject({ code: 'LOCK_CONTENDED' });
    await tx.query('ROLLBACK TO SAVEPOINT nestjs_distributed_lock');
    await tx.query('COMMIT');
    await holder.query('COMMIT');
  });

  it("waits for ever under a session's shorter lock_timeout when asked to", async () => {
    const key = randomUUID();
    const holder = await begin();
    await lockInTransaction(holder, key, { mode });
    const tx = await begin();
    await tx.query("SET LOCAL lock_timeout = '20ms'");
    const lock = lockInTransaction(tx, key, { mode, wait: Infinity });
    await waits(tx);
    await new Promise((resolve) => setTimeout(resolve, 100));
    await holder.query('COMMIT');
    await expect(lock).resolves.toMatchObject({ key });
    await tx.query('ROLLBACK');
  });

  it('reports contention when a statement_timeout ends the wait', async () => {
    const key = randomUUID();
    const holder = await begin();
    await lockInTransaction(holder, key, { mode });
    const tx = await begin();
    await tx.query("SET LOCAL statement_timeout = '100ms'");
    await expect(lockInTransaction(tx, key, { mode })).rejects.toMatchObject({ code: LockErrorCode.Contended });
    await tx.query('COMMIT');
    await holder.query('COMMIT');
  });

  it('tells a cancelled wait from contention', async () => {
    const key = randomUUID();
    const holder = await begin();
    await lockInTransaction(holder, key, { mode });
    const tx = await begin();
    const lock = lockInTransaction(tx, key, { mode });
    lock.catch(() => undefined);
    await waits(tx);
    await holder.query('SELECT pg_cancel_backend($1)', [(tx as unknown as { processID: number }).processID]);
    await expect(lock).rejects.toMatchObject({ code: LockErrorCode.Unavailable });
    await tx.query('SELECT 1');
    await tx.query('COMMIT');
    await holder.query('COMMIT');
  });

  it('turns a deadlock into a typed error; the others go on once the victim rolls back', async () => {
    const [a, b] = [randomUUID(), randomUUID()];
    const [first, second] = [await begin(), await begin()];
    await lockInTransaction(first, a, { mode });
    await lockInTransaction(second, b, { mode });
    const attempt = (tx: pg.Client, key: string) =>
      lockInTransaction(tx, key, { mode, wait: '10s' }).then(
        () => undefined,
        async (error: unknown) => {
          // The transaction takes statements still.
          await tx.query('SELECT 1');
          await tx.query('ROLLBACK');
          return error;
        },
      );
    const outcomes = await Promise.all([attempt(first, b), attempt(second, a)]);
    const errors = outcomes.filter((outcome) => outcome !== undefined);
    expect(errors).toHaveLength(1);
    expect(errors[0]).toBeInstanceOf(LockTransactionError);
    expect(errors[0]).toMatchObject({ reason: 'deadlock', transaction: 'usable', code: LockErrorCode.Unavailable });
    await Promise.all([first.query('ROLLBACK'), second.query('ROLLBACK')]);
  });

  it('releases on the way back to a savepoint that is older than the lock, and keeps on its release', async () => {
    const key = randomUUID();
    const [tx, other] = [await begin(), await begin()];
    await tx.query('SAVEPOINT mine');
    await lockInTransaction(tx, key, { mode });
    await tx.query('RELEASE SAVEPOINT mine');
    await expect(lockInTransaction(other, key, { mode, wait: 0 })).rejects.toMatchObject({ code: 'LOCK_CONTENDED' });
    await tx.query('ROLLBACK');

    await begin(tx);
    await tx.query('SAVEPOINT mine');
    await lockInTransaction(tx, key, { mode });
    await tx.query('ROLLBACK TO SAVEPOINT mine');
    await lockInTransaction(other, key, { mode, wait: 0 });
    await Promise.all([tx.query('COMMIT'), other.query('COMMIT')]);
  });

  it('refuses a transaction that has failed, and leaves nothing behind where there is none', async () => {
    const tx = await begin();
    await tx.query('SELECT 1 / 0').catch(() => undefined);
    await expect(lockInTransaction(tx, 'k', { mode })).rejects.toMatchObject({
      reason: 'aborted',
      transaction: 'aborted',
    });
    await tx.query('ROLLBACK');
    const key = randomUUID();
    await expect(lockInTransaction(tx, key, { mode })).rejects.toMatchObject({ code: LockErrorCode.Options });
    await begin(tx);
    await lockInTransaction(tx, key, { mode, wait: 0 });
    await tx.query('COMMIT');
  });

  it('reports a connection that is ended while it waits as an outage, and leaves nothing held', async () => {
    const key = randomUUID();
    const [holder, tx, third] = [await begin(), await begin(), await begin()];
    await lockInTransaction(holder, key, { mode });
    const lock = lockInTransaction(tx, key, { mode });
    lock.catch(() => undefined);
    await waits(tx);
    await third.query('SELECT pg_terminate_backend($1)', [(tx as unknown as { processID: number }).processID]);
    await expect(lock).rejects.toMatchObject({ code: LockErrorCode.Unavailable, key });
    await holder.query('COMMIT');
    await lockInTransaction(third, key, { mode, wait: 0 });
    await third.query('COMMIT');
  });

  it('is bounded when the server does not answer at all', async () => {
    const { hostname, port } = new URL(server.url);
    const proxy = await TcpProxy.start(Number(port), hostname);
    const url = new URL(server.url);
    url.host = `127.0.0.1:${proxy.port}`;
    const tx = await begin(await connect(url.href));
    proxy.blackHole();
    const start = performance.now();
    const lock = lockInTransaction(tx, 'k', { mode, wait: 100, commandTimeout: 200 });
    await expect(lock).rejects.toMatchObject({ code: LockErrorCode.Unavailable });
    expect(performance.now() - start).toBeLessThan(500);
    await proxy.stop();
  });

  it('lets two calls on one connection take turns: the one that times out does not undo the other', async () => {
    const [a, b, c] = [randomUUID(), randomUUID(), randomUUID()];
    const [holder, tx] = [await begin(), await begin()];
    await lockInTransaction(holder, b, { mode });
    const all = await Promise.allSettled([a, b, c].map((key) => lockInTransaction(tx, key, { mode, wait: 100 })));
    expect(all.map(({ status }) => status)).toEqual(['fulfilled', 'rejected', 'fulfilled']);
    for (const key of [a, c]) {
      await expect(lockInTransaction(holder, key, { mode, wait: 0 })).rejects.toMatchObject({ code: 'LOCK_CONTENDED' });
    }
    await Promise.all([tx.query('COMMIT'), holder.query('COMMIT')]);
  });

  it('tells keys apart byte by byte', async () => {
    const base = randomUUID();
    const long = `${base}${'x'.repeat(5_000)}`;
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
      await lockInTransaction(tx, key, { mode, wait: 0 });
      await tx.query('ROLLBACK');
      await lockInTransaction(held, key, { mode, wait: 0 });
    }
    await held.query('ROLLBACK');
  });

  it('does not keep the key when the fencing token cannot be drawn', async () => {
    const client = await connect();
    const table = `t${randomUUID().replaceAll('-', '')}`;
    for (const statement of transactionSchema('postgres', table)) await client.query(statement);
    await client.query(`DROP SEQUENCE "${table}_fence"`);
    const tx = await begin();
    await expect(lockInTransaction(tx, 'k', { mode, table, fencing: true })).rejects.toMatchObject({
      code: LockErrorCode.Unavailable,
      retryable: false,
    });
    await begin(client);
    await lockInTransaction(client, 'k', { mode, table, wait: 0 });
    await Promise.all([client.query('COMMIT'), tx.query('COMMIT')]);
    await client.query(`DROP TABLE "${table}"`);
  });

  it('works behind transaction pooling, where session locks do not', async () => {
    const bouncer = await PgBouncer.start({ target: server.url, mode: 'transaction', poolSize: 2 });
    const [holder, tx] = [await connect(bouncer.url), await connect(bouncer.url)];
    try {
      const key = randomUUID();
      for (let round = 0; round < 3; round += 1) {
        await Promise.all([begin(holder), begin(tx)]);
        await lockInTransaction(holder, key, { mode });
        await expect(lockInTransaction(tx, key, { mode, wait: 50 })).rejects.toMatchObject({ code: 'LOCK_CONTENDED' });
        const lock = lockInTransaction(tx, key, { mode });
        await holder.query('COMMIT');
        await lock;
        await tx.query('COMMIT');
      }
    } finally {
      await Promise.all([holder.end(), tx.end()]);
      await bouncer.stop();
    }
  });

  it('draws a larger token after a holder that was killed (S9)', async () => {
    const key = randomUUID();
    const [tx, next] = [await begin(), await begin()];
    const { fencingToken } = await lockInTransaction(tx, key, { mode, fencing: true });
    const pid = (tx as unknown as { processID: number }).processID;
    await next.query('SELECT pg_terminate_backend($1)', [pid]);
    const later = await lockInTransaction(next, key, { mode, fencing: true });
    expect(later.fencingToken).toBeGreaterThan(fencingToken!);
    await next.query('COMMIT');
  });
});

describe('the advisory lock', () => {
  it('stands under the documented numbers, and does not meet a lock on the same 64 bits', async () => {
    const key = `order:${randomUUID()}`;
    const [tx, other] = [await begin(), await connect()];
    await lockInTransaction(tx, key);
    const hash = createHash('sha256').update(key).digest();
    const { rows } = await other.query(
      `SELECT classid, objid, objsubid FROM pg_locks WHERE locktype = 'advisory' AND pid = $1`,
      [(tx as unknown as { processID: number }).processID],
    );
    expect(rows).toEqual([{ classid: hash.readUInt32BE(0), objid: hash.readUInt32BE(4), objsubid: 2 }]);
    const single = await other.query('SELECT pg_try_advisory_lock($1::bigint) AS free', [hash.readBigInt64BE(0)]);
    expect(single.rows[0].free).toBe(true);
    const documented = `
      WITH k AS (SELECT ('x' || encode(substr(sha256(convert_to($1, 'UTF8')), 1, 8), 'hex'))::bit(64)::bigint AS bits)
      SELECT pg_try_advisory_lock((bits >> 32)::int, ((bits << 32) >> 32)::int) AS free FROM k`;
    expect((await other.query(documented, [key])).rows[0].free).toBe(false);
    await tx.query('COMMIT');
    expect((await other.query(documented, [key])).rows[0].free).toBe(true);
  });

  it('needs no table, and works in a read-only transaction', async () => {
    const tx = await begin(undefined, 'BEGIN READ ONLY');
    await lockInTransaction(tx, randomUUID(), { table: 'there_is_none' });
    await tx.query('COMMIT');
  });
});

describe('the row', () => {
  it('is locked again when somebody sweeps it away meanwhile', async () => {
    const key = randomUUID();
    const first = await begin();
    await lockInTransaction(first, key, { mode: 'row' });
    await first.query('COMMIT');
    const sweeper = await begin();
    await sweeper.query('DELETE FROM distributed_lock_tx WHERE lock_key = $1', [key]);
    const [tx, other] = [await begin(), await begin()];
    const lock = lockInTransaction(tx, key, { mode: 'row' });
    await waits(tx);
    await sweeper.query('COMMIT');
    await lock;
    await expect(lockInTransaction(other, key, { mode: 'row', wait: 0 })).rejects.toMatchObject({ key });
    await Promise.all([tx.query('COMMIT'), other.query('COMMIT')]);
  });

  it('passes to one of those who wait when the transaction that inserted it rolls back', async () => {
    const key = randomUUID();
    const first = await begin();
    await lockInTransaction(first, key, { mode: 'row' });
    let inside = 0;
    const others = Array.from({ length: 5 }, async () => {
      const tx = await begin();
      await lockInTransaction(tx, key, { mode: 'row' });
      expect((inside += 1)).toBe(1);
      await tx.query('SELECT pg_sleep(0.01)');
      inside -= 1;
      await tx.query('ROLLBACK');
    });
    await new Promise((resolve) => setTimeout(resolve, 100));
    await first.query('ROLLBACK');
    await Promise.all(others);
  });

  it('says so when its table is missing, and the transaction goes on', async () => {
    const tx = await begin();
    await expect(lockInTransaction(tx, 'k', { mode: 'row', table: 'there_is_none' })).rejects.toMatchObject({
      code: LockErrorCode.Unavailable,
      retryable: false,
      message: expect.stringContaining('transactionSchema()'),
    });
    await tx.query('SELECT 1');
    await tx.query('COMMIT');
  });

  it("is a typed conflict when it is newer than a REPEATABLE READ transaction's snapshot", async () => {
    const key = randomUUID();
    const tx = await begin(undefined, 'BEGIN ISOLATION LEVEL REPEATABLE READ');
    await tx.query('SELECT 1 FROM distributed_lock_tx LIMIT 1');
    const other = await begin();
    await lockInTransaction(other, key, { mode: 'row' });
    await other.query('COMMIT');
    await expect(lockInTransaction(tx, key, { mode: 'row' })).rejects.toMatchObject({
      reason: 'conflict',
      transaction: 'usable',
    });
    await tx.query('SELECT 1');
    await tx.query('ROLLBACK');
  });
});
