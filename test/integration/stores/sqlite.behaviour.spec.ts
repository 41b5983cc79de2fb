import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import Database from 'better-sqlite3';
import { randomBytes } from 'node:crypto';
import { existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { monitorEventLoopDelay } from 'node:perf_hooks';
import { setTimeout as sleep } from 'node:timers/promises';
import type { AcquireRequest, LockStore, QueueStatus, StoreHold } from '../../../lib/contract/index.js';
import { LockOptionsError } from '../../../lib/errors/index.js';
import { sqliteSchema, sqliteStore, type SqliteStoreOptions } from '../../../lib/stores/sqlite/index.js';

let folder: string;
let filename: string;
let stores: LockStore[];
let connections: Database.Database[];

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'lock-sqlite-'));
  filename = join(folder, 'locks.db');
  stores = [];
  connections = [];
});

afterEach(async () => {
  for (const connection of connections) connection.close();
  await Promise.all(stores.map((store) => store.close()));
  rmSync(folder, { recursive: true, force: true });
});

function make(options: Partial<SqliteStoreOptions> = {}): LockStore {
  const store = sqliteStore({ filename, ...options });
  stores.push(store);
  return store;
}

async function opened(options?: Partial<SqliteStoreOptions>): Promise<LockStore> {
  const store = make(options);
  await store.open();
  return store;
}

function request(key: string, more: Partial<AcquireRequest> = {}): AcquireRequest {
  return {
    key,
    owner: randomBytes(16).toString('hex'),
    label: 'spec',
    mode: { kind: 'exclusive' },
    ttl: 30_000,
    wait: false,
    signal: new AbortController().signal,
    onStatus: () => undefined,
    ...more,
  };
}

async function hold(store: LockStore, key: string, more?: Partial<AcquireRequest>): Promise<StoreHold> {
  const result = await store.acquire(request(key, more));
  if (!result.acquired) throw new Error(`"${key}" is held`);
  return result.hold;
}

/** Another program's connection to the file. */
function stranger(): Database.Database {
  const connection = new Database(filename);
  connections.push(connection);
  return connection;
}

const count = (table: string) =>
  (stranger().prepare(`SELECT COUNT(*) AS rows FROM ${table}`).get() as { rows: number }).rows;

describe('keys in an SQLite file', () => {
  const keys = [
    'order:7',
    'Order:7',
    'order:7 ',
    ' order:7',
    'order:7\n',
    'order:7\0a',
    'order:7\0b',
    'é',
    'e\u0301',
    'É',
    'ß',
    'ss',
    '😀',
    '7',
    '7.0',
    `'; DROP TABLE distributed_lock; --`,
    '%',
    '_',
    'x'.repeat(10_000),
    `${'x'.repeat(9_999)}y`,
    '😀'.repeat(5_000),
  ];

  it('are different as soon as one code unit is', async () => {
    const store = await opened();
    const holds = await Promise.all(keys.map((key) => hold(store, key)));
    expect(new Set(holds.map(({ fence }) => fence)).size).toBe(keys.length);
    for (const key of keys) {
      expect(await store.acquire(request(key))).toMatchObject({ acquired: false, holder: { label: 'spec' } });
    }
    expect(await Promise.all(holds.map((held) => held.release()))).toEqual(keys.map(() => true));
    expect(count('distributed_lock')).toBe(0);
  });
});

describe('a lease in an SQLite file', () => {
  it('is taken over once it has run out, with a larger fence, and a late release leaves the successor alone', async () => {
    const store = await opened();
    const late = await hold(store, 'k', { ttl: 60 });
    expect(await store.acquire(request('k'))).toMatchObject({ acquired: false });
    await sleep(70);
    const next = await hold(store, 'k');
    expect(next.fence!).toBeGreaterThan(late.fence!);
    expect(await late.release()).toBe(false);
    expect(await store.renew!([{ hold: late, ttl: 1_000 }])).toEqual(['lost']);
    expect(await store.inspect('k')).toMatchObject({ owner: next.owner });
    expect(await next.release()).toBe(true);
  });

  it('that ran out is not ours any more, even when nobody has taken the key', async () => {
    const store = await opened();
    const late = await hold(store, 'k', { ttl: 40 });
    await sleep(50);
    expect(await store.inspect('k')).toBeUndefined();
    expect(await store.forceRelease('k')).toBe(false);
    expect(await store.renew!([{ hold: late, ttl: 1_000 }])).toEqual(['lost']);
    expect(await late.release()).toBe(false);
  });

  it('is certain from the start of the winning try, less drift, and is moved by a renewal', async () => {
    const store = await opened();
    const before = performance.now();
    const held = await hold(store, 'k', { ttl: 1_000 });
    const after = performance.now();
    expect(held.validUntil).toBeGreaterThanOrEqual(before + 988);
    expect(held.validUntil).toBeLessThanOrEqual(after + 988);
    const renewing = performance.now();
    expect(await store.renew!([{ hold: held, ttl: 60_000 }])).toEqual(['renewed']);
    expect(held.validUntil).toBeGreaterThanOrEqual(renewing + 59_398);
    expect((await store.inspect('k'))!.remaining).toBeGreaterThan(59_000);
  });

  it('starts when the file was free at last, not when the call was made', async () => {
    const store = await opened();
    const other = stranger();
    other.exec('BEGIN IMMEDIATE');
    setTimeout(() => other.exec('ROLLBACK'), 150);
    const before = performance.now();
    const held = await hold(store, 'k', { ttl: 1_000 });
    expect(held.validUntil).toBeGreaterThan(before + 988 + 140);
  });

  it('is renewed in batches, each answered by itself and in order, and never made anew', async () => {
    const store = await opened();
    const holds = await Promise.all(Array.from({ length: 1_201 }, (_, index) => hold(store, `k${index}`)));
    await store.forceRelease('k0');
    await store.forceRelease('k1200');
    const outcomes = await store.renew!(holds.map((held) => ({ hold: held, ttl: 5_000 })));
    expect(outcomes).toEqual(holds.map((_, index) => (index === 0 || index === 1_200 ? 'lost' : 'renewed')));
    expect(count('distributed_lock')).toBe(1_199);
  });

  it('is found again by its owner, with the same fence, when the answer to the win was lost', async () => {
    const store = await opened();
    const first = request('k');
    const won = await store.acquire(first);
    const again = await store.acquire(first);
    expect(again).toMatchObject({ acquired: true, hold: { fence: (won as { hold: StoreHold }).hold.fence } });
  });

  it('gets a larger fence than every one before, over all keys and after the clock was set back', async () => {
    const store = await opened();
    let last = 0n;
    for (const key of ['a', 'b', 'a', 'c']) {
      const held = await hold(store, key);
      expect(held.fence!).toBeGreaterThan(last);
      expect(held.fence!).toBeLessThan(2n ** 53n);
      last = held.fence!;
      await held.release();
    }
    // As if all of that had happened with a clock that was an hour ahead.
    stranger().exec('UPDATE distributed_lock_fence SET last = last + 3600000000');
    expect((await hold(store, 'a')).fence).toBeGreaterThan(last + 3_600_000_000n);
    expect((await hold(store, 'b')).fence).toBeGreaterThan(last + 3_600_000_000n);
  });

  it('tells who holds the key, for how long, how long still, and how many wait', async () => {
    const store = await opened();
    const held = await hold(store, 'k', { ttl: 10_000, label: 'host:1' });
    const controller = new AbortController();
    const waiting = store.acquire(request('k', { wait: true, signal: controller.signal })).catch(() => 'left');
    await sleep(60);
    const seen = await store.inspect('k');
    expect(seen).toMatchObject({ owner: held.owner, label: 'host:1', waiters: 1, fence: held.fence });
    expect(seen!.age).toBeGreaterThanOrEqual(59);
    expect(seen!.age! + seen!.remaining!).toBe(10_000);
    controller.abort();
    expect(await waiting).toBe('left');
    expect(await store.inspect('k')).toMatchObject({ waiters: 0 });
  });
});

describe('waiting in an SQLite file', () => {
  const waitFor = (store: LockStore, key: string, more: Partial<AcquireRequest> = {}) =>
    hold(store, key, { wait: true, ...more });

  it('hears of a release long before the next poll', async () => {
    const [first, second] = [await opened(), await opened({ pollInterval: '5s' })];
    const held = await hold(first, 'k');
    const waiting = waitFor(second, 'k');
    await sleep(100);
    const released = performance.now();
    await held.release();
    await waiting;
    expect(performance.now() - released).toBeLessThan(100);
  });

  it('hears of a release by its poll in a journal mode that gives no sign', async () => {
    const [first, second] = [await opened({ journalMode: 'keep' }), await opened({ journalMode: 'keep' })];
    expect(stranger().pragma('journal_mode', { simple: true })).toBe('delete');
    const held = await hold(first, 'k');
    const waiting = waitFor(second, 'k');
    await sleep(50);
    const released = performance.now();
    await held.release();
    await waiting;
    expect(performance.now() - released).toBeLessThan(200);
  });

  it('gets the key as soon as the lease of a silent holder has run out', async () => {
    const store = await opened({ pollInterval: '5s' });
    const start = performance.now();
    await hold(store, 'k', { ttl: 200 });
    await waitFor(store, 'k');
    expect(performance.now() - start).toBeGreaterThanOrEqual(199);
    expect(performance.now() - start).toBeLessThan(400);
  });

  it('gets the key when its holder is forced out', async () => {
    const store = await opened();
    await hold(store, 'k');
    const waiting = waitFor(store, 'k');
    await sleep(30);
    expect(await store.forceRelease('k')).toBe(true);
    expect(await waiting).toMatchObject({ key: 'k' });
  });

  it('a newcomer, waiting or not, does not overtake', async () => {
    const store = await opened();
    const other = await opened();
    const held = await hold(store, 'k');
    const order: number[] = [];
    const turn = (number: number, from: LockStore) =>
      waitFor(from, 'k').then(async (mine) => {
        order.push(number);
        await sleep(5);
        await mine.release();
      });
    const turns = [];
    for (let number = 0; number < 6; number += 1) {
      turns.push(turn(number, number % 2 ? store : other));
      await sleep(8);
    }
    // Free for an instant, but promised to those who wait.
    const released = held.release();
    const newcomer = await other.acquire(request('k'));
    await released;
    expect(newcomer.acquired).toBe(false);
    await Promise.all([...turns, sleep(1).then(() => turn(6, other))]);
    expect(order).toEqual([0, 1, 2, 3, 4, 5, 6]);
  });

  it('a refused try without waiting leaves nothing in the queue', async () => {
    const store = await opened();
    await hold(store, 'k');
    await store.acquire(request('k'));
    expect(count('distributed_lock_waiter')).toBe(0);
  });

  it.each([
    ['front', 0],
    ['middle', 1],
    ['back', 2],
  ])('who gives up at the %s leaves the queue at once', async (_place, leaver) => {
    const store = await opened({ pollInterval: '300ms' });
    const held = await hold(store, 'k');
    const controllers = [0, 1, 2].map(() => new AbortController());
    const granted: number[] = [];
    const waits = [];
    for (const [number, { signal }] of controllers.entries()) {
      waits.push(
        waitFor(store, 'k', { signal }).then(async (mine) => {
          granted.push(number);
          await mine.release();
        }),
      );
      await sleep(10);
    }
    const reason = new Error('enough');
    controllers[leaver]!.abort(reason);
    await expect(waits[leaver]).rejects.toBe(reason);
    expect(count('distributed_lock_waiter')).toBe(2);
    const released = performance.now();
    await held.release();
    await Promise.allSettled(waits);
    expect(granted).toEqual([0, 1, 2].filter((number) => number !== leaver));
    expect(performance.now() - released).toBeLessThan(250);
  });

  it('a ticket lives on while its process waits, and lapses after a second when it does not', async () => {
    const store = await opened();
    const held = await hold(store, 'k');
    // A process that died while it queued, ahead of everybody.
    stranger().exec(
      `INSERT INTO distributed_lock_waiter (ticket, key, owner, expires_at)
       VALUES (-1, 'k', 'dead', CAST(unixepoch('subsec') * 1000 AS INTEGER) + 400)`,
    );
    const waiting = waitFor(store, 'k');
    const released = performance.now();
    await held.release();
    const next = await waiting;
    expect(performance.now() - released).toBeGreaterThan(200);
    expect(performance.now() - released).toBeLessThan(700);

    const long = waitFor(store, 'k');
    await sleep(1_500);
    await next.release();
    expect(await store.acquire(request('k'))).toMatchObject({ acquired: false });
    expect(await long).toMatchObject({ key: 'k' });
  });

  it('keeps its place over a repeated call, and abandon() takes both the place and the lock', async () => {
    const store = await opened();
    const held = await hold(store, 'k');
    const first = request('k', { wait: true });
    void store.acquire(first).catch(() => undefined);
    await sleep(5);
    const second = waitFor(store, 'k');
    const again = store.acquire(first);
    await sleep(20);
    expect(count('distributed_lock_waiter')).toBe(2);
    await held.release();
    expect(await again).toMatchObject({ acquired: true });
    await store.abandon('k', first.owner);
    await store.abandon('k', first.owner);
    expect(await second).toMatchObject({ key: 'k' });
  });

  it('ends when the store is closed, and the process may go on without it', async () => {
    const store = await opened();
    await hold(store, 'k');
    const waiting = store.acquire(request('k', { wait: true }));
    await sleep(20);
    await store.close();
    await expect(waiting).rejects.toMatchObject({ code: 'LOCK_UNAVAILABLE', retryable: false });
    await expect(store.acquire(request('k'))).rejects.toThrow(/closed/);
    await store.open();
    expect(await store.inspect('k')).toMatchObject({ label: 'spec' });
  });

  it('tells the engine who holds the key', async () => {
    const store = await opened();
    await hold(store, 'k', { label: 'host:7' });
    const controller = new AbortController();
    const heard: QueueStatus[] = [];
    const wait = { wait: true, signal: controller.signal, onStatus: (status: QueueStatus) => heard.push(status) };
    const waiting = store.acquire(request('k', wait)).catch(() => undefined);
    await sleep(60);
    controller.abort();
    await waiting;
    expect(heard.length).toBeGreaterThan(1);
    expect(heard.at(-1)).toMatchObject({ kind: 'contended', holder: { label: 'host:7' } });
  });
});

describe('an SQLite file that another connection keeps locked', () => {
  it('is unavailable after the command timeout, never contended, and never blocks the event loop', async () => {
    const store = await opened({ commandTimeout: '300ms' });
    const held = await hold(store, 'k');
    const other = stranger();
    other.exec('BEGIN IMMEDIATE');
    const delay = monitorEventLoopDelay({ resolution: 5 });
    delay.enable();
    const start = performance.now();
    const operations = [
      store.acquire(request('free')),
      store.acquire(request('k', { wait: true })),
      store.renew!([{ hold: held, ttl: 1_000 }]),
      store.abandon('k', 'nobody'),
      store.forceRelease('k'),
      held.release(),
    ];
    const results = await Promise.allSettled(operations);
    delay.disable();
    const took = performance.now() - start;
    for (const result of results) {
      expect(result).toMatchObject({
        reason: { code: 'LOCK_UNAVAILABLE', retryable: true, cause: { code: 'SQLITE_BUSY' } },
      });
    }
    expect(took).toBeGreaterThanOrEqual(300);
    expect(took).toBeLessThan(600);
    expect(delay.max / 1e6).toBeLessThan(100);
    // Readers are not disturbed, and it recovers by itself.
    expect(await store.inspect('k')).toMatchObject({ owner: held.owner });
    other.exec('COMMIT');
    expect(await held.release()).toBe(true);
  });

  it('only delays, when it is free again in time', async () => {
    const store = await opened();
    const other = stranger();
    other.exec('BEGIN IMMEDIATE');
    setTimeout(() => other.exec('COMMIT'), 100);
    const start = performance.now();
    await (await hold(store, 'k')).release();
    expect(performance.now() - start).toBeGreaterThan(90);
    expect(performance.now() - start).toBeLessThan(300);
  });

  it('is unavailable at opening too, and opens later', async () => {
    await opened();
    const other = stranger();
    other.exec('BEGIN EXCLUSIVE');
    const store = make({ commandTimeout: '100ms' });
    await expect(store.open()).rejects.toMatchObject({ code: 'LOCK_UNAVAILABLE', retryable: true });
    other.exec('COMMIT');
    await store.open();
    expect(await hold(store, 'k')).toMatchObject({ key: 'k' });
  });
});

describe('what is wrong with a file is said when the store is opened', () => {
  const failing = (options?: Partial<SqliteStoreOptions>) =>
    make(options)
      .open()
      .then(
        () => Promise.reject(new Error('it opened')),
        (error: unknown) => error,
      );

  it('a folder that does not exist', async () => {
    expect(await failing({ filename: join(folder, 'none/locks.db') })).toMatchObject({
      code: 'LOCK_UNAVAILABLE',
      retryable: false,
      message: expect.stringContaining(`does not exist: ${folder}/none`),
    });
    expect(existsSync(join(folder, 'none'))).toBe(false);
  });

  it('a folder in place of the file', async () => {
    mkdirSync(filename);
    expect(await failing()).toMatchObject({ retryable: false, message: expect.stringContaining('is a folder') });
  });

  it('a file that is not a database', async () => {
    writeFileSync(filename, 'name;price\n'.repeat(1_000));
    expect(await failing()).toMatchObject({
      code: 'LOCK_UNAVAILABLE',
      retryable: false,
      message: expect.stringContaining('is not an SQLite database'),
      cause: expect.objectContaining({ code: 'SQLITE_NOTADB' }),
    });
  });

  it('a corrupt file', async () => {
    await (await opened({ journalMode: 'keep' })).close();
    const store = new Database(filename);
    const size = (store.pragma('page_size', { simple: true }) as number) * 2;
    store.close();
    writeFileSync(filename, Buffer.alloc(size, 0xee), { flag: 'r+' });
    expect(await failing()).toMatchObject({ code: 'LOCK_UNAVAILABLE', retryable: false, cause: expect.anything() });
  });

  it('tables that are missing although they should not be created; the schema then helps', async () => {
    const error = await failing({ createTable: false, table: 'app_locks' });
    expect(error).toBeInstanceOf(LockOptionsError);
    expect(error).toMatchObject({
      message: expect.stringMatching(/"app_locks".*sqliteSchema/s),
      cause: expect.anything(),
    });
    stranger().exec(sqliteSchema('app_locks'));
    const store = await opened({ createTable: false, table: 'app_locks' });
    await hold(store, 'k');
    expect(count('app_locks')).toBe(1);
  });

  it('a table of another kind under the same name, which stays as it is', async () => {
    stranger().exec(`CREATE TABLE users (key TEXT, expires_at INTEGER); INSERT INTO users VALUES ('a', 0)`);
    expect(await failing({ table: 'users' })).toBeInstanceOf(LockOptionsError);
    expect(count('users')).toBe(1);
    expect(stranger().prepare('SELECT name FROM sqlite_schema').pluck().all()).toEqual(['users']);
  });

  it('nothing is wrong when several open a new file at once', async () => {
    const all = await Promise.all(Array.from({ length: 8 }, () => opened()));
    const results = await Promise.all(all.map((store) => store.acquire(request('k'))));
    expect(results.filter(({ acquired }) => acquired)).toHaveLength(1);
  });
});

describe('an SQLite file that changes under the store', () => {
  it('that was removed is made anew, and locks of the old one are lost rather than kept by halves', async () => {
    const store = await opened();
    const old = await hold(store, 'k');
    for (const name of readdirSync(folder)) rmSync(join(folder, name));
    const other = await opened();
    const next = await hold(other, 'k');
    expect(await store.acquire(request('k'))).toMatchObject({ acquired: false });
    expect(await store.renew!([{ hold: old, ttl: 1_000 }])).toEqual(['lost']);
    expect(await old.release()).toBe(false);
    expect(next.fence!).toBeGreaterThan(old.fence!);
  });

  it('whose table was dropped is set up again by the next call but one', async () => {
    const store = await opened();
    stranger().exec('DROP TABLE distributed_lock');
    await expect(store.acquire(request('k'))).rejects.toMatchObject({ code: 'LOCK_UNAVAILABLE' });
    expect(await hold(store, 'k')).toMatchObject({ key: 'k' });
  });
});

describe('what crashed processes left behind', () => {
  const NOW = `CAST(unixepoch('subsec') * 1000 AS INTEGER)`;

  it('is swept when a store opens, without touching what lives', async () => {
    await (await opened()).close();
    stranger().exec(`
      WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 400)
      INSERT INTO distributed_lock SELECT 'dead' || i, 'o' || i, 'l', i, 0, ${NOW} - 1 FROM n;
      INSERT INTO distributed_lock VALUES ('live', 'o', 'l', 1, 0, ${NOW} + 60000);
      INSERT INTO distributed_lock_waiter (key, owner, expires_at) VALUES ('live', 'gone', ${NOW} - 1);
      INSERT INTO distributed_lock_waiter (key, owner, expires_at) VALUES ('live', 'there', ${NOW} + 60000);`);
    const store = await opened();
    expect(count('distributed_lock')).toBe(1);
    expect(count('distributed_lock_waiter')).toBe(1);
    expect(await store.inspect('live')).toMatchObject({ owner: 'o', waiters: 1 });
  });

  it('is swept in steps when there is very much of it', async () => {
    await (await opened()).close();
    stranger().exec(`
      WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 1200)
      INSERT INTO distributed_lock SELECT 'dead' || i, 'o' || i, 'l', i, 0, 1 FROM n;`);
    const store = await opened();
    expect(count('distributed_lock')).toBe(700);
    await sleep(1_050);
    await (await hold(store, 'k')).release();
    expect(count('distributed_lock')).toBe(200);
  });

  it('is nothing after many keys came and went', async () => {
    const store = await opened();
    for (let index = 0; index < 2_000; index += 1) await (await hold(store, `k${index}`)).release();
    expect(['distributed_lock', 'distributed_lock_waiter'].map(count)).toEqual([0, 0]);
  });
});

describe("the store's own connection", () => {
  it('may be made by a class that the user loaded', async () => {
    let made = 0;
    class Mine extends Database {
      constructor(file: string, options?: Database.Options) {
        super(file, options);
        made += 1;
      }
    }
    const store = await opened({ driver: Mine });
    await hold(store, 'k');
    expect(made).toBe(1);
  });

  it('is closed with the store, so that the file can be moved or removed', async () => {
    const store = await opened();
    await hold(store, 'k');
    await store.close();
    // The last connection to close removes the log.
    expect(readdirSync(folder)).toEqual(['locks.db']);
  });
});
