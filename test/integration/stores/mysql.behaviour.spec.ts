import { fork } from 'node:child_process';
import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import callbackMysql from 'mysql2';
import mysql, { type Connection, type Pool } from 'mysql2/promise';
import type { LockStore, StoreHold } from '../../../lib/contract/index.js';
import type { LockError } from '../../../lib/errors/index.js';
import { LockEngine } from '../../../lib/engine/lock.engine.js';
import { mysqlSchema, mysqlStore, type MysqlMode, type MysqlStoreOptions } from '../../../lib/stores/mysql/index.js';
import { unavailable } from '../../../lib/stores/mysql/mysql.errors.js';
import { EngineProcess } from '../../../lib/testing/conformance/engine-process.js';
import { MariadbBackend } from '../../support/mariadb-backend.js';
import { MariadbServer } from '../../support/mariadb-server.js';
import { newOwner, request, take, until } from '../../support/redis-requests.js';

const MODES: readonly MysqlMode[] = ['table', 'row', 'named'];
const SESSIONS = MODES.filter((mode) => mode !== 'table');
const OPTIONS = { maxHold: Infinity, minHold: 0, maxWaiters: Infinity, handOff: false, renew: true, ttl: 5_000 };

const backend = await MariadbBackend.start();
let admin: Connection;
const ends: (() => unknown)[] = [];
let count = 0;
let key: string;

beforeAll(async () => {
  admin = await mysql.createConnection(backend.directUrl);
});
afterAll(async () => {
  await admin.end();
  await backend.stop();
});
afterEach(async () => {
  for (const end of ends.splice(0).reverse()) await end();
});

async function open(options: Partial<MysqlStoreOptions> = {}): Promise<LockStore> {
  key = `key-${(count += 1)}`;
  const source = options.pool ? {} : { connection: backend.url };
  const store = mysqlStore({ ...source, ...options });
  ends.push(() => store.close());
  await store.open();
  return store;
}

async function openAll(count: number, options: Partial<MysqlStoreOptions>): Promise<LockStore[]> {
  return Promise.all(Array.from({ length: count }, () => open(options)));
}

function newPool(settings: object = {}): Pool {
  const pool = mysql.createPool({ uri: backend.url, connectionLimit: 5, ...settings });
  ends.push(() => pool.end());
  return pool;
}

function engineOver(store: LockStore): EngineProcess {
  const process = new EngineProcess(store, 1);
  ends.push(() => process.engine.close(0));
  return process;
}

async function rows(text: string, values: unknown[] = []): Promise<Record<string, unknown>[]> {
  return (await admin.query(text, values))[0] as Record<string, unknown>[];
}

/** The sessions of everybody but the one that asks. */
async function sessions(): Promise<number[]> {
  const all = await rows('SELECT ID FROM information_schema.PROCESSLIST WHERE ID <> CONNECTION_ID() AND USER = "root"');
  return all.map(({ ID }) => Number(ID));
}

async function killAll(): Promise<void> {
  for (const id of await sessions()) await admin.query(`KILL ${id}`).catch(() => undefined);
}

/** A session in the middle of a transaction that the server had rather not undo. */
async function outsider(): Promise<Connection> {
  const other = await mysql.createConnection(backend.directUrl);
  ends.push(() => other.end());
  await other.query('CREATE TABLE IF NOT EXISTS heavy (id INT AUTO_INCREMENT PRIMARY KEY, text VARCHAR(10))');
  await other.query('SET SESSION TRANSACTION ISOLATION LEVEL REPEATABLE READ');
  await other.query('START TRANSACTION');
  await other.query(`INSERT INTO heavy (text) VALUES ${Array.from({ length: 100 }, () => "('x')").join(', ')}`);
  return other;
}

/** How many the server has ended. */
async function deadlocks(): Promise<number> {
  const counter = `SELECT COUNT AS ended FROM information_schema.INNODB_METRICS WHERE NAME = 'lock_deadlocks'`;
  return Number((await rows(counter))[0]?.['ended']);
}

async function isFree(store: LockStore): Promise<boolean> {
  const result = await store.acquire(request(key));
  if (result.acquired) await result.hold.release();
  return result.acquired;
}

describe.each(MODES)('mode %s', (mode) => {
  it("locks beside the caller's open transaction, and its rollback leaves the lock alone", async () => {
    const pool = newPool();
    const store = await open({ pool, mode });
    const other = await open({ mode });
    key = 'in-transaction';
    await admin.query('CREATE TABLE IF NOT EXISTS data (id INT PRIMARY KEY)');
    const connection = await pool.getConnection();
    await connection.beginTransaction();
    await connection.query('INSERT INTO data VALUES (1)');
    const hold = await take(store, key);
    expect((await other.acquire(request(key))).acquired).toBe(false);
    await connection.query('ROLLBACK');
    connection.release();
    expect((await other.acquire(request(key))).acquired).toBe(false);
    expect(await hold.release()).toBe(true);
    await (await take(other, key)).release();
  });

  it("leaves the caller's pool open, and its sessions as they were", async () => {
    const pool = newPool();
    const ask =
      'SHOW SESSION VARIABLES WHERE Variable_name IN ' +
      "('autocommit', 'wait_timeout', 'innodb_lock_wait_timeout', 'tx_isolation', 'transaction_isolation')";
    const [before] = await pool.query(ask);
    const store = await open({ pool, mode });
    await (await take(store, key)).release();
    await store.close();
    const connections = await Promise.all(Array.from({ length: 5 }, () => pool.getConnection()));
    for (const connection of connections) {
      expect((await connection.query(ask))[0]).toEqual(before);
      connection.release();
    }
  });

  it('takes a pool in the callback form, whatever its options', async () => {
    const odd = {
      rowsAsArray: true,
      namedPlaceholders: true,
      bigNumberStrings: true,
      dateStrings: true,
      flags: ['-FOUND_ROWS'],
    };
    const pool = callbackMysql.createPool({ uri: backend.url, connectionLimit: 5, ...odd });
    ends.push(() => new Promise((resolve) => pool.end(resolve)));
    const store = await open({ pool, mode });
    const hold = await take(store, key, { label: `o'brien\\ "x" ü` });
    expect(await store.inspect(key)).toMatchObject({ owner: hold.owner, label: `o'brien\\ "x" ü` });
    expect((await store.acquire(request(key))).acquired).toBe(false);
    if (store.renew) expect(await store.renew([{ hold, ttl: 5_000 }])).toEqual(['renewed']);
    expect(await hold.release()).toBe(true);
    expect(await hold.release()).toBe(false);
  });

  it('is right in every SQL mode that changes how statements are read', async () => {
    const pool = newPool();
    pool.pool.on('connection', (connection) =>
      connection.query(
        "SET SESSION sql_mode = 'ANSI_QUOTES,NO_BACKSLASH_ESCAPES,SIMULTANEOUS_ASSIGNMENT,STRICT_ALL_TABLES,NO_ZERO_DATE'",
      ),
    );
    const store = await open({ pool, mode });
    key = `it's \\' a "key"; -- \\`;
    const label = `' OR 1 = 1 -- \\'`;
    const first = await take(store, key, { label, ttl: 50 });
    expect((await store.inspect(key))?.label).toBe(label);
    if (mode === 'table') await until(async () => (await store.inspect(key)) === undefined);
    else await first.release();
    const second = await take(store, key);
    expect((await store.acquire(request(key))).acquired).toBe(false);
    expect((await store.inspect(key))?.owner).toBe(second.owner);
    expect(await first.release()).toBe(false);
    expect(await second.release()).toBe(true);
  });

  it('comes back from a wait of 500 ms in time, fifty times, and leaves nothing held', async () => {
    const pool = newPool({ connectionLimit: 10 });
    const holder = engineOver(await open({ mode }));
    const room = mode === 'table' ? {} : { maxConnections: 2 };
    const waiting = (await openAll(4, { pool, mode, ...room })).map(engineOver);
    key = 'waited-for';
    const hold = await holder.acquire(key);
    const times: number[] = [];
    const refusals: string[] = [];
    const attempt = async (process: EngineProcess): Promise<void> => {
      const start = performance.now();
      const error = (await process.acquire(key, { wait: 500 }).catch((thrown: unknown) => thrown)) as LockError;
      times.push(performance.now() - start);
      if (error.code !== 'LOCK_CONTENDED') refusals.push(`${error.code}: ${error.message}`);
    };
    for (let round = 0; round < 13; round += 1) await Promise.all(waiting.map(attempt));
    expect(times).toHaveLength(52);
    // A machine may stand still for half a second, of which this is the truth.
    expect(refusals.filter((refusal) => !refusal.includes('gave no answer within 50'))).toEqual([]);
    expect(refusals.length).toBeLessThan(5);
    expect(Math.min(...times)).toBeGreaterThanOrEqual(450);
    times.sort((a, b) => a - b);
    expect(times[46]).toBeLessThan(700);
    expect(times[51]).toBeLessThan(2_000);
    expect(await hold.release()).toBe(true);
    for (const process of waiting) await (await process.acquire(key, { wait: 1_000 })).release();
    await Promise.all(waiting.map(({ engine }) => engine.close(1_000)));
    // All of the pool is there.
    const all = await Promise.all(Array.from({ length: 10 }, () => pool.getConnection()));
    for (const connection of all) connection.release();
  }, 60_000);

  it('gives out larger tokens after a holder was killed, and after the server was', async () => {
    const store = await open({ mode });
    const first = await take(store, key, { ttl: 500 });
    await killAll();
    await until(() => isFree(store).catch(() => false), 10_000);
    const second = await take(store, key);
    expect(second.fence! > first.fence!).toBe(true);
    if (backend.server === undefined) return;
    await backend.server.restart();
    admin = await mysql.createConnection(backend.directUrl);
    let third = await store.acquire(request(`${key}-2`)).catch(() => undefined);
    await until(
      async () => (third ??= await store.acquire(request(`${key}-2`)).catch(() => undefined)) !== undefined,
      10_000,
    );
    expect(third!.acquired && third!.hold.fence! > second.fence!).toBe(true);
  });

  it('keeps its pool whole when a hundred tries fail', async () => {
    const pool = newPool({ connectionLimit: 4, maxIdle: 4 });
    const [holder] = await openAll(1, { mode });
    const store = await open({ pool, mode });
    await take(holder!, key);
    for (let round = 0; round < 100; round += 1) expect((await store.acquire(request(key))).acquired).toBe(false);
    const free = await take(store, `${key}-free`);
    expect(await free.release()).toBe(true);
    await store.close();
    const all = await Promise.all(Array.from({ length: 4 }, () => pool.getConnection()));
    for (const connection of all) {
      expect((await connection.query('SELECT @@autocommit AS autocommit'))[0]).toEqual([{ autocommit: 1 }]);
      connection.release();
    }
  });

  it('is exclusive between two engines over one store', async () => {
    const store = await open({ mode });
    const engines = [1, 2].map(
      () => new LockEngine({ stores: new Map([['default', store]]), label: 'x', handOff: { max: 1, time: 1 } }),
    );
    ends.push(() => Promise.all(engines.map((engine) => engine.close(0))));
    let inside = 0;
    await Promise.all(
      engines.flatMap((engine) =>
        Array.from({ length: 5 }, async () => {
          for (let round = 0; round < 5; round += 1) {
            const hold = await engine.acquire(engine.backend('default', 'test'), { ...OPTIONS, key, wait: 20_000 });
            expect((inside += 1)).toBe(1);
            await sleep(1);
            inside -= 1;
            expect(await hold.release()).toBe(true);
          }
        }),
      ),
    );
  });

  it('frees the key of a process that was killed', async () => {
    const store = await open({ mode });
    const ttl = 1_000;
    const options = { connection: backend.directUrl, mode };
    const worker = fork(
      join(process.cwd(), 'test/integration/stores/mysql.worker.ts'),
      [JSON.stringify([options, key, ttl])],
      {
        execArgv: ['--disable-warning=ExperimentalWarning', '--import', 'tsx'],
        env: { ...process.env, NODE_OPTIONS: '' },
      },
    );
    ends.push(() => worker.kill('SIGKILL'));
    const [fence] = (await once(worker, 'message')) as [string];
    expect(await isFree(store)).toBe(false);
    worker.kill('SIGKILL');
    const killed = performance.now();
    const result = await store.acquire(request(key, { wait: true }));
    expect(performance.now() - killed).toBeLessThan(mode === 'table' ? ttl + 1_000 : 1_000);
    expect(result.acquired && result.hold.fence! > BigInt(fence)).toBe(true);
  });

  it('says what is wrong without a word of the password', async () => {
    const url = new URL(backend.url);
    url.username = 'nobody';
    url.password = 'hunter2';
    for (const connection of [
      url,
      { host: '127.0.0.1', port: Number(url.port), user: 'nobody', password: 'hunter2', database: 'test' },
    ]) {
      const store = mysqlStore({ connection, mode });
      ends.push(() => store.close());
      const error = (await store.open().catch((reason: unknown) => reason)) as Error;
      expect(error).toMatchObject({ code: 'LOCK_UNAVAILABLE', retryable: false });
      expect(error.message).toContain(`mysql at 127.0.0.1:${url.port}/test: Access denied`);
      expect(JSON.stringify([error.message, error.stack, error.cause, String(error.cause)])).not.toContain('hunter2');
    }
  });

  it('knows nothing of the locks of other modes, and ends none', async () => {
    const mine = await open({ mode });
    const others = await Promise.all(MODES.filter((other) => other !== mode).map((other) => open({ mode: other })));
    const holds = await Promise.all(others.map((store) => take(store, key)));
    expect(await mine.inspect(key)).toBeUndefined();
    expect(await mine.forceRelease(key)).toBe(false);
    const hold = await take(mine, key);
    for (const each of [hold, ...holds]) expect(await each.release()).toBe(true);
  });

  it('works with tables that a migration has made, and says which are missing', async () => {
    const table = `migrated_${mode}`;
    const last = { table: 'fence', row: 'row', named: 'named' }[mode];
    await expect(open({ mode, table, createTable: false })).rejects.toMatchObject({
      code: 'LOCK_OPTIONS',
      message: expect.stringMatching(
        new RegExp(`'test' .*no table .*"${table}_${last}" .*mysqlSchema\\({ mode: '${mode}', table: '${table}' }\\)`),
      ),
    });
    for (const statement of mysqlSchema({ mode, table })) await admin.query(statement);
    const store = await open({ mode, table, createTable: false });
    expect(await (await take(store, key)).release()).toBe(true);
  });
});

describe('mode table', () => {
  it('keeps a hold over the end of every connection, and recovers', async () => {
    const process = engineOver(await open());
    const hold = await process.acquire(key);
    for (let round = 0; round < 3; round += 1) {
      await killAll();
      await sleep(100);
    }
    expect(hold.held).toBe(true);
    expect(hold.signal.aborted).toBe(false);
    expect(await hold.release()).toBe(true);
    await (await process.acquire(key)).release();
  });

  it('refuses a connection that was returned within a transaction, or with autocommit off', async () => {
    const pool = newPool({ connectionLimit: 1 });
    const store = await open({ pool });
    await (await take(store, key)).release();
    // The first sweep would take the connection.
    await sleep(100);
    for (const spoil of ['START TRANSACTION', 'SET autocommit = 0']) {
      const connection = await pool.getConnection();
      await connection.query(spoil);
      connection.release();
      await expect(store.acquire(request(key))).rejects.toMatchObject({
        code: 'LOCK_UNAVAILABLE',
        message: expect.stringContaining('within a transaction'),
      });
      const hold = await take(store, key);
      expect(await hold.release()).toBe(true);
    }
  });

  it('sweeps what a crash left, and no live row', async () => {
    const table = 'swept';
    const first = await open({ table });
    await take(first, 'left', { ttl: 10 });
    const live = await take(first, 'live', { ttl: 60_000 });
    await sleep(30);
    const second = await open({ table });
    await (await take(second, 'other')).release();
    await until(async () => (await rows('SELECT lock_key FROM swept')).length === 1);
    expect(await rows('SELECT lock_key, owner FROM swept')).toEqual([{ lock_key: 'live', owner: live.owner }]);
  });

  it('leaves no row behind, however many keys there were', async () => {
    const store = await open({ table: 'many_keys' });
    for (let each = 0; each < 200; each += 1) await (await take(store, `many-${each}`)).release();
    expect(await rows('SELECT COUNT(*) AS count FROM many_keys')).toEqual([{ count: 0 }]);
  });

  it('begins its tokens at the time in µs, and catches up with it on each new connection', async () => {
    const table = 'catching_up';
    const store = await open({ table });
    const micros = (): bigint => BigInt(Date.now() - 10_000) * 1_000n;
    expect((await take(store, key)).fence! > micros()).toBe(true);
    // As a replica has it that lacks what came last.
    await admin.query(`DROP TABLE ${table}`);
    const [create] = mysqlSchema({ table });
    await admin.query(create!);
    expect((await take(store, 'behind')).fence! < micros()).toBe(true);
    await killAll();
    let hold: StoreHold | undefined;
    await until(async () => (hold = await take(store, 'caught-up').catch(() => undefined)) !== undefined);
    expect(hold!.fence! > micros()).toBe(true);
    expect(await rows(`SELECT COUNT(*) AS count FROM ${table} WHERE lock_key = ''`)).toEqual([{ count: 0 }]);
  });

  it('lets no claim draw a token while one that has drawn before may still win', async () => {
    // It needs a server with a setting of its own.
    if (backend.server === undefined) return;
    const server = await MariadbServer.start({ args: ['--innodb-autoinc-lock-mode=2'] });
    ends.push(() => server.stop());
    const stores = await openAll(3, { connection: server.url });
    const other = await mysql.createConnection(server.url);
    ends.push(() => other.end());
    const hash = (text: string): Buffer => createHash('sha256').update(text).digest();
    // Not in the gap before the other's row, which whoever waits for that row locks as well.
    const [low, high] = ['one', 'two'].sort((a, b) => Buffer.compare(hash(a), hash(b))) as [string, string];
    await take(stores[0]!, low);
    await other.query('START TRANSACTION');
    await other.query('SELECT 1 FROM distributed_lock WHERE id = ? FOR UPDATE', [hash(low)]);
    const held = stores[1]!.acquire(request(low));
    await sleep(100);
    let drawn = false;
    const free = stores[2]!.acquire(request(high)).finally(() => (drawn = true));
    await sleep(200);
    expect(drawn).toBe(false);
    await other.query('COMMIT');
    expect((await held).acquired).toBe(false);
    expect((await free).acquired).toBe(true);
  });

  it('says so when the row that claims go by is gone, rather than that the key is taken', async () => {
    const table = 'no_turn';
    const store = await open({ table });
    await admin.query(`DELETE FROM ${table}_fence`);
    const gone = { code: 'LOCK_UNAVAILABLE', retryable: false, message: expect.stringContaining('lacks the row') };
    await expect(store.acquire(request(key))).rejects.toMatchObject(gone);
    await (await take(await open({ table }), key)).release();
  });

  it('works where the server keeps no prepared statements', async () => {
    const [{ before }] = (await rows('SELECT @@max_prepared_stmt_count AS `before`')) as [{ before: number }];
    await admin.query('SET GLOBAL max_prepared_stmt_count = 0');
    ends.push(() => admin.query(`SET GLOBAL max_prepared_stmt_count = ${before}`));
    const store = await open({ pool: newPool() });
    for (let round = 0; round < 2; round += 1) expect(await (await take(store, key)).release()).toBe(true);
  });

  it('sends a statement again that the server has undone to end a deadlock', async () => {
    const store = await open({ table: 'deadlocked' });
    const holds = [await take(store, 'one'), await take(store, 'two')];
    const [first, second] = (await rows('SELECT id FROM deadlocked ORDER BY id')).map(({ id }) => id);
    const other = await outsider();
    const before = await deadlocks();
    await other.query('UPDATE deadlocked SET expires_at = expires_at WHERE id = ?', [second]);
    const renewed = store.renew!(holds.map((hold) => ({ hold, ttl: 10_000 })));
    await sleep(100);
    await other.query('SELECT 1 FROM deadlocked WHERE id = ? FOR UPDATE', [first]);
    expect((await deadlocks()) - before).toBe(1);
    await other.query('COMMIT');
    expect(await renewed).toEqual(['renewed', 'renewed']);
  });

  it('is quick to take what a process of another time zone holds for what it is', async () => {
    const pool = newPool();
    pool.pool.on('connection', (connection) => connection.query("SET time_zone = '-11:00'"));
    const [here, there] = [await open(), await open({ pool })];
    key = 'time-zone';
    await take(here, key, { ttl: 5_000 });
    expect((await there.acquire(request(key))).acquired).toBe(false);
    expect((await there.inspect(key))!.remaining).toBeGreaterThan(4_000);
  });
});

describe.each(SESSIONS)('mode %s', (mode) => {
  it('tells a holder at once that its session was killed, and recovers', async () => {
    const process = engineOver(await open({ mode }));
    const hold = await process.acquire(key);
    const { signal } = hold;
    await killAll();
    await until(() => signal.aborted, 1_000);
    expect(hold.held).toBe(false);
    expect(await hold.release()).toBe(false);
    const next = await process.acquire(key);
    expect(next.fencingToken > hold.fencingToken).toBe(true);
    expect(await next.release()).toBe(true);
  });

  it('tells a holder that the server has fallen silent', async () => {
    const process = engineOver(await open({ mode, keepAlive: '200ms', commandTimeout: '200ms' }));
    const hold = await process.acquire(key);
    const { signal } = hold;
    backend.proxy.blackHole();
    try {
      await until(() => signal.aborted, 2_000);
    } finally {
      backend.proxy.heal();
    }
    expect(hold.held).toBe(false);
    await (await process.acquire(key, { wait: 5_000 })).release();
  });

  it('does not take a blocked event loop for a loss', async () => {
    const process = engineOver(await open({ mode, keepAlive: '100ms', commandTimeout: '100ms' }));
    const hold = await process.acquire(key);
    for (let round = 0; round < 5; round += 1) {
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 400);
      await sleep(20);
    }
    expect(hold.held).toBe(true);
    expect(await hold.release()).toBe(true);
  });

  it('says so when all of its sessions are in use, and goes on when one is free', async () => {
    const store = await open({ mode, maxConnections: 2, connectTimeout: '300ms' });
    const holder = await open({ mode });
    const hold = await take(holder, 'contended');
    const abort = new AbortController();
    const waits = [1, 2].map(() =>
      store.acquire(request('contended', { wait: true, signal: abort.signal })).catch(() => undefined),
    );
    await until(async () => (await sessions()).length >= 3);
    await sleep(200);
    const refused: unknown = await store.acquire(request('contended', { wait: true })).catch((error: unknown) => error);
    expect(String(refused)).toContain('maxConnections');
    expect(refused).toMatchObject({ code: 'LOCK_UNAVAILABLE' });
    abort.abort();
    await Promise.all(waits);
    await hold.release();
    await until(
      () =>
        take(store, 'contended').then(
          (late) => late.release(),
          () => false,
        ),
      3_000,
    );
  });

  it('leaves no row of a key behind that nobody wants', async () => {
    const table = `left_${mode}`;
    const store = await open({ mode, table });
    for (let each = 0; each < 20; each += 1) await (await take(store, `left-${each}`)).release();
    const column = mode === 'row' ? 'created_at' : 'acquired_at';
    await admin.query(`UPDATE ${table}_${mode} SET ${column} = NOW() - INTERVAL 1 DAY`);
    const live = await take(store, 'live');
    await (await open({ mode, table })).acquire(request('x'));
    await until(async () => (await rows(`SELECT * FROM ${table}_${mode} WHERE lock_key LIKE 'left-%'`)).length === 0);
    expect((await store.acquire(request('live'))).acquired).toBe(false);
    expect(await live.release()).toBe(true);
  });
});

describe('mode row', () => {
  it('answers at once when many ask for a key that has no row yet', async () => {
    const stores = await openAll(4, { mode: 'row', maxConnections: 20 });
    for (let round = 0; round < 20; round += 1) {
      const fresh = `${key}-${round}`;
      const start = performance.now();
      const tries = [...stores, ...stores, ...stores].map((store) => store.acquire(request(fresh)));
      const won = (await Promise.all(tries)).filter((result) => result.acquired);
      expect(won).toHaveLength(1);
      expect(performance.now() - start).toBeLessThan(800);
      for (const result of won) if (result.acquired) await result.hold.release();
    }
  });
});

describe('mode named', () => {
  it('lets many locks share a few sessions', async () => {
    const store = await open({ mode: 'named', maxConnections: 4 });
    const before = (await sessions()).length;
    const holds = [];
    for (let each = 0; each < 50; each += 1) holds.push(await take(store, `${key}-${each}`));
    expect((await sessions()).length - before).toBeLessThanOrEqual(4);
    for (const hold of holds) expect((await store.acquire(request(hold.key))).acquired).toBe(false);
    for (const hold of holds) expect(await hold.release()).toBe(true);
  });

  it('is not asked for one key twice on a session', async () => {
    const store = await open({ mode: 'named' });
    const results = await Promise.all(
      Array.from({ length: 10 }, () => store.acquire(request(key, { owner: newOwner() }))),
    );
    expect(results.filter(({ acquired }) => acquired)).toHaveLength(1);
  });
});

describe('errors of the server', () => {
  it.each([
    [3058, 'GET_LOCK() found a deadlock'],
    [1213, 'The server ended a deadlock'],
  ])('%i is a typed error that may be tried again', (errno, hint) => {
    const error = unavailable(Object.assign(new Error('Deadlock found'), { errno, sql: 'SELECT secret' }), 'host:1/db');
    expect(error).toMatchObject({ code: 'LOCK_UNAVAILABLE', retryable: true, message: expect.stringContaining(hint) });
    expect(JSON.stringify(error.cause)).not.toContain('secret');
  });
});
