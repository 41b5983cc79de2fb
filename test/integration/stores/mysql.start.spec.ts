import { createHash } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import mysql, { type Connection, type Pool, type PoolConnection } from 'mysql2/promise';
import type { LockStore } from '../../../lib/contract/index.js';
import { mysqlSchema, mysqlStore, type MysqlMode, type MysqlStoreOptions } from '../../../lib/stores/mysql/index.js';
import { EngineProcess } from '../../../lib/testing/conformance/engine-process.js';
import { MariadbBackend } from '../../support/mariadb-backend.js';
import { request, take, until } from '../../support/redis-requests.js';

const MODES: readonly MysqlMode[] = ['table', 'row', 'named'];
const TABLES = { table: ['', '_waiter', '_fence'], row: ['_hold', '_row'], named: ['_named'] } as const;
const RIGHTS = {
  table: 'SELECT, INSERT, UPDATE, DELETE',
  row: 'SELECT, INSERT, DELETE',
  named: 'SELECT, INSERT, DELETE',
};

const backend = await MariadbBackend.start();
let admin: Connection;
const ends: (() => unknown)[] = [];

beforeAll(async () => {
  admin = await mysql.createConnection(backend.directUrl);
  await admin.query('CREATE DATABASE IF NOT EXISTS other');
  await admin.query('CREATE TABLE IF NOT EXISTS data (id INT PRIMARY KEY) ENGINE = InnoDB');
});
afterAll(async () => {
  await admin.query('DROP DATABASE other');
  await admin.end();
  await backend.stop();
});
afterEach(async () => {
  for (const end of ends.splice(0).reverse()) await end();
});

async function open(options: Partial<MysqlStoreOptions>): Promise<LockStore> {
  const source = options.pool ? {} : { connection: backend.url };
  const store = mysqlStore({ ...source, ...options });
  ends.push(() => store.close());
  await store.open();
  return store;
}

async function refusal(options: Partial<MysqlStoreOptions>): Promise<{ code?: string; message: string }> {
  const error: unknown = await open(options).then(
    () => undefined,
    (reason: unknown) => reason,
  );
  expect(error).toBeInstanceOf(Error);
  return error as Error;
}

/** @param sets what each new session is told first */
function newPool(settings: object = {}, sets: readonly string[] = []): Pool {
  const pool = mysql.createPool({ uri: backend.url, connectionLimit: 4, ...settings });
  pool.pool.on('connection', (connection) => sets.forEach((text) => connection.query(text)));
  ends.push(() => pool.end());
  return pool;
}

/** Does something with every connection of a pool, and gives them back as they are then. */
async function onEach(pool: Pool, count: number, ...texts: string[]): Promise<void> {
  const taken: PoolConnection[] = [];
  for (let each = 0; each < count; each += 1) taken.push(await pool.getConnection());
  for (const connection of taken) {
    for (const text of texts) await connection.query(text);
    connection.release();
  }
}

function url(change: (url: URL) => void): string {
  const changed = new URL(backend.url);
  change(changed);
  return changed.href;
}

async function numberOf(text: string): Promise<number> {
  const [rows] = await admin.query(text);
  return Number(Object.values((rows as object[])[0]!)[0]);
}

async function migrate(mode: MysqlMode, table: string): Promise<void> {
  for (const statement of mysqlSchema({ mode, table })) await admin.query(statement);
}

describe.each(MODES)('where the tables of mode %s are', (mode) => {
  it('stays the same when sessions of the pool have selected another database', async () => {
    await open({ mode, connection: url((to) => (to.pathname = '/other')) });
    const pool = newPool();
    const [inPool, beside] = [await open({ mode, pool }), await open({ mode })];
    await onEach(pool, 4, 'USE other');
    const hold = await take(inPool, 'same');
    expect((await beside.acquire(request('same'))).acquired).toBe(false);
    expect((await beside.inspect('same'))?.owner).toBe(hold.owner);
    expect((await inPool.inspect('same'))?.owner).toBe(hold.owner);
    expect(await hold.release()).toBe(true);
  });

  it('is what the first session has selected where the pool is not told', async () => {
    const pool = newPool({ uri: url((to) => (to.pathname = '')) }, ['USE test']);
    const [inPool, beside] = [await open({ mode, pool }), await open({ mode })];
    await onEach(pool, 4, 'USE other');
    await take(inPool, 'selected');
    expect((await beside.acquire(request('selected'))).acquired).toBe(false);
  });

  it('must be said', async () => {
    const connection = url((to) => (to.pathname = ''));
    expect(await refusal({ mode, connection })).toMatchObject({
      code: 'LOCK_OPTIONS',
      message: expect.stringContaining('Put /database into the connection'),
    });
  });

  it('may have a name that has to be quoted', async () => {
    await admin.query("CREATE DATABASE `it's ``odd``-ü`");
    ends.push(() => admin.query("DROP DATABASE `it's ``odd``-ü`"));
    const connection = url((to) => (to.pathname = `/${encodeURIComponent("it's `odd`-ü")}`));
    const [one, two] = [await open({ mode, connection }), await open({ mode, connection })];
    const hold = await take(one, 'odd');
    expect((await two.acquire(request('odd'))).acquired).toBe(false);
    expect(await hold.release()).toBe(true);
    expect((await two.acquire(request('odd'))).acquired).toBe(true);
  });
});

it('makes the name of a named lock of the database, the table and the key', async () => {
  await take(await open({ mode: 'named' }), 'name');
  const hash = createHash('sha256').update('name').digest('hex').toUpperCase();
  const name = createHash('sha256').update(`test.distributed_lock.${hash}`).digest('hex');
  expect(await numberOf(`SELECT IS_USED_LOCK('${name}')`)).toBeGreaterThan(0);
});

describe.each(MODES)('the tables of mode %s', (mode) => {
  it.each(TABLES[mode])('must be InnoDB: "%s"', async (suffix) => {
    const table = `isam${suffix}_${mode}`;
    await migrate(mode, table);
    await admin.query(`ALTER TABLE ${table}${suffix} ENGINE = MyISAM`);
    for (const createTable of [true, false]) {
      expect(await refusal({ mode, table, createTable })).toMatchObject({
        code: 'LOCK_OPTIONS',
        message: expect.stringMatching(
          new RegExp(`"${table}${suffix}" is MyISAM.*ALTER TABLE \`${table}${suffix}\` ENGINE=InnoDB`),
        ),
      });
    }
    await admin.query(`ALTER TABLE ${table}${suffix} ENGINE = InnoDB`);
    await take(await open({ mode, table }), 'innodb');
  });

  it.each(TABLES[mode])('are looked for at the start: "%s"', async (suffix) => {
    const table = `absent${suffix}_${mode}`;
    await migrate(mode, table);
    await admin.query(`DROP TABLE ${table}${suffix}`);
    expect(await refusal({ mode, table, createTable: false })).toMatchObject({
      code: 'LOCK_OPTIONS',
      message: expect.stringMatching(new RegExp(`no table "${table}${suffix}" that .* mysqlSchema\\(`)),
    });
    await take(await open({ mode, table }), 'made');
  });

  it('must not be those of somebody else', async () => {
    const [suffix] = TABLES[mode];
    await admin.query(`CREATE TABLE foreign_${mode}${suffix} (id INT PRIMARY KEY) ENGINE = InnoDB`);
    expect(await refusal({ mode, table: `foreign_${mode}` })).toMatchObject({
      code: 'LOCK_OPTIONS',
      message: expect.stringMatching(/`foreign_.*Unknown column .* as mysqlSchema\(\) has it/),
    });
  });
});

describe.each(MODES)('a user with few rights, in mode %s', (mode) => {
  const table = `rights_${mode}`;
  // Everybody may do everything in a database that is called test.
  const limited = url((to) => {
    to.pathname = '/other';
    to.username = `limited_${mode}`;
    to.password = 'secret';
  });

  async function grant(rights: string): Promise<void> {
    await admin.query('USE other');
    ends.push(() => admin.query('USE test'));
    await migrate(mode, table);
    await admin.query(`CREATE OR REPLACE USER limited_${mode} IDENTIFIED BY 'secret'`);
    await admin.query(`GRANT USAGE ON *.* TO limited_${mode}`);
    for (const suffix of TABLES[mode]) await admin.query(`GRANT ${rights} ON ${table}${suffix} TO limited_${mode}`);
  }

  it.each([true, false])('can do everything with those of the documentation (createTable: %s)', async (createTable) => {
    await grant(RIGHTS[mode]);
    const [one, two] = [
      await open({ mode, table, connection: limited, createTable }),
      await open({ mode, table, connection: limited, createTable }),
    ];
    const first = await take(one, 'key');
    const waiting = two.acquire(request('key', { wait: true }));
    await until(async () => (await two.inspect('key'))?.owner === first.owner);
    if (one.renew) expect(await one.renew([{ hold: first, ttl: 5_000 }])).toEqual(['renewed']);
    expect(await two.forceRelease('key')).toBe(true);
    const second = await waiting;
    expect(second.acquired && (await second.hold.release())).toBe(true);
  });

  it.each(RIGHTS[mode].split(', '))('is told at the start that %s is missing', async (right) => {
    await grant(
      RIGHTS[mode]
        .split(', ')
        .filter((other) => other !== right)
        .join(', '),
    );
    for (const createTable of [true, false]) {
      const { message } = await refusal({ mode, table, connection: limited, createTable });
      expect(message).toMatch(new RegExp(`${right}.* command denied.* needs SELECT, INSERT`));
    }
  });

  it('is told what to do without the right to create', async () => {
    await grant(RIGHTS[mode]);
    expect(await refusal({ mode, table: `${table}_none`, connection: limited })).toMatchObject({
      code: 'LOCK_UNAVAILABLE',
      retryable: false,
      message: expect.stringContaining('Grant CREATE, or run mysqlSchema() as a migration and set createTable: false'),
    });
  });

  it('is told that the server is read-only', async () => {
    await grant(RIGHTS[mode]);
    await admin.query('SET GLOBAL read_only = 1');
    ends.push(() => admin.query('SET GLOBAL read_only = 0'));
    for (const createTable of [true, false]) {
      expect(await refusal({ mode, table, connection: limited, createTable })).toMatchObject({
        code: 'LOCK_UNAVAILABLE',
        message: expect.stringContaining('This server is read-only: connect to the primary'),
      });
    }
  });
});

describe.each(MODES)('a pool of somebody who is careless, in mode %s', (mode) => {
  const WITHIN = { code: 'LOCK_UNAVAILABLE', message: expect.stringContaining('within a transaction') };

  it.each(['SET autocommit = 0', 'START TRANSACTION'])('is refused at the start: %s', async (set) => {
    expect(await refusal({ mode, pool: newPool({}, [set]) })).toMatchObject(WITHIN);
  });

  it.each(['START TRANSACTION', 'SET autocommit = 0'])(
    'never has its open transactions used, or committed: %s',
    async (begin) => {
      const pool = newPool({ connectionLimit: 6 });
      const store = await open({ mode, pool });
      const other = await open({ mode });
      await take(other, `held by ${begin}`);
      await onEach(pool, 6, begin, 'INSERT INTO data VALUES (CONNECTION_ID())', 'SELECT * FROM data');
      for (const ask of [
        () => store.acquire(request(`free: ${begin}`)),
        () => store.acquire(request(`held by ${begin}`, { wait: true })),
        () => store.inspect(`held by ${begin}`),
        () => store.forceRelease(`held by ${begin}`),
      ]) {
        await expect(ask()).rejects.toMatchObject(WITHIN);
      }
      expect(await numberOf('SELECT COUNT(*) FROM data')).toBe(0);
      await until(() =>
        store.acquire(request(`free: ${begin}`)).then(
          ({ acquired }) => acquired,
          () => false,
        ),
      );
      expect((await other.acquire(request(`free: ${begin}`))).acquired).toBe(false);
    },
  );

  it('has no transaction open that it has not begun itself, whatever its completion_type', async () => {
    const pool = newPool({}, ['SET completion_type = 1']);
    const store = await open({ mode, pool });
    const hold = await take(store, 'chained');
    expect((await store.inspect('chained'))?.owner).toBe(hold.owner);
    expect((await store.acquire(request('chained'))).acquired).toBe(false);
    expect(await hold.release()).toBe(true);
    await store.close();
    await until(async () => (await numberOf('SELECT COUNT(*) FROM information_schema.innodb_trx')) === 0);
    await onEach(pool, 4, 'SET TRANSACTION ISOLATION LEVEL READ COMMITTED');
  });

  it('ends waits as contended, although it is as small as it may be', async () => {
    await take(await open({ mode }), 'small');
    const waiting = new EngineProcess(await open({ mode, pool: newPool({ connectionLimit: 3 }) }), 1);
    ends.push(() => waiting.engine.close(0));
    await expect(waiting.acquire('small', { wait: 500 })).rejects.toMatchObject({ code: 'LOCK_CONTENDED' });
  });
});

it('keeps the session on which it has swept', async () => {
  const own = `SELECT GROUP_CONCAT(ID) FROM information_schema.PROCESSLIST WHERE ID <> CONNECTION_ID()`;
  const text = async () => String(Object.values(((await admin.query(own))[0] as object[])[0]!)[0]);
  await open({ mode: 'row' });
  const before = await text();
  await sleep(200);
  expect(await text()).toBe(before);
});
