import { randomBytes } from 'node:crypto';
import { afterAll, afterEach, describe, expect, test } from '@jest/globals';
import pg from 'pg';
import { LockErrorCode } from '../../../lib/errors/index.js';
import { postgresSchema, postgresStore, type PostgresStoreOptions } from '../../../lib/stores/postgres/index.js';
import { PostgresBackend } from '../../support/postgres-backend.js';
import { TestEngine } from '../../support/test-engine.js';
import { chosenVariants } from '../../support/variants.js';

const MODES = { table: 'table', row: 'row', advisory: 'advisory' } as const;
/** Which of the tables each mode has, and what belongs to all. */
const MAIN = { table: '', row: '_row', advisory: '_fence' } as const;

const backend = await PostgresBackend.start();
afterAll(() => backend.stop());

const cleanUps: (() => unknown)[] = [];
afterEach(async () => {
  for (const cleanUp of cleanUps.splice(0).reverse()) await cleanUp();
});

async function engine(options: Partial<PostgresStoreOptions>): Promise<TestEngine> {
  const source = options.pool ? {} : { connection: backend.directUrl };
  const made = new TestEngine(postgresStore({ ...source, ...options }));
  cleanUps.push(() => made.close());
  await made.engine.open();
  return made;
}

const failure = (options: Partial<PostgresStoreOptions>): Promise<unknown> =>
  engine(options).then(
    () => undefined,
    (error: unknown) => error,
  );

const newName = (what: string): string => `${what}_${randomBytes(4).toString('hex')}`;

async function newSchema(name = newName('schema')): Promise<string> {
  await backend.query(`CREATE SCHEMA "${name}"`);
  cleanUps.push(() => backend.query(`DROP SCHEMA "${name}" CASCADE`));
  return name;
}

/** A role that may log in and do nothing else, and how it is reached. */
async function newRole(...settings: string[]): Promise<{ readonly role: string; readonly connection: string }> {
  const role = newName('role');
  await backend.query(`CREATE ROLE ${role} LOGIN PASSWORD 'none'`);
  cleanUps.push(() => backend.query(`DROP OWNED BY ${role} CASCADE; DROP ROLE ${role}`));
  for (const setting of settings) await backend.query(`ALTER ROLE ${role} SET ${setting}`);
  const url = new URL(backend.directUrl);
  url.username = role;
  url.password = 'none';
  return { role, connection: url.href };
}

const schemasWith = async (relation: string): Promise<string[]> => {
  const rows = await backend.query('SELECT relnamespace::regnamespace::text AS name FROM pg_class WHERE relname = $1', [
    relation,
  ]);
  return rows.map((row) => String(row['name']));
};

describe.each(chosenVariants(MODES))('%s', (_, mode) => {
  test('what the application has SET on the sessions of its pool leads nowhere else', async () => {
    const [tenant, table] = [await newSchema(), newName('lock')];
    const shared = new pg.Pool({ connectionString: backend.directUrl, max: 2 });
    cleanUps.push(() => shared.end());
    const [locks, others] = [await engine({ mode, table, pool: shared }), await engine({ mode, table })];
    const excludes = async (holder: TestEngine): Promise<void> => {
      const hold = await holder.acquire('one');
      await expect(others.acquire('one', { wait: 0 })).rejects.toMatchObject({ code: LockErrorCode.Contended });
      expect(await hold.release()).toBe(true);
    };
    await excludes(locks);
    const clients = await Promise.all([shared.connect(), shared.connect()]);
    for (const client of clients) {
      await client.query(`SET search_path = ${tenant}`);
      client.release();
    }
    await excludes(locks);
    await excludes(await engine({ mode, table, pool: shared }));
    expect(await schemasWith(`${table}${MAIN[mode]}`)).toEqual(['public']);
    for (const client of clients) {
      expect((await client.query('SHOW search_path')).rows).toEqual([{ search_path: tenant }]);
    }
  });

  test('the search_path that sessions begin with counts: a role’s, or a connection’s', async () => {
    const [schema, table] = [await newSchema('with-a-dash'), newName('lock')];
    const { role, connection } = await newRole(`search_path = nowhere, "${schema}", public`);
    await backend.query(`GRANT USAGE, CREATE ON SCHEMA "${schema}" TO ${role}`);
    const locks = await engine({ mode, table, connection });
    await (await locks.acquire('one')).release();
    expect(await schemasWith(`${table}${MAIN[mode]}`)).toEqual([`"${schema}"`]);
    const other = newName('lock');
    const options = `-c search_path=${schema}`;
    await engine({ mode, table: other, connection: { connectionString: backend.directUrl, options } });
    expect(await schemasWith(`${other}${MAIN[mode]}`)).toEqual([`"${schema}"`]);
  });

  test('tables that stand further on in the search_path are found there', async () => {
    const [first, second, table] = [await newSchema(), await newSchema(), newName('lock')];
    await backend.query(postgresSchema({ mode, table, schema: second }));
    const options = `-c search_path=${first},${second}`;
    const locks = await engine({ mode, table, connection: { connectionString: backend.directUrl, options } });
    await (await locks.acquire('one')).release();
    expect(await schemasWith(`${table}${MAIN[mode]}`)).toEqual([second]);
  });

  test('an empty search_path is told apart, and the option named', async () => {
    const connection = { connectionString: backend.directUrl, options: '-c search_path=' };
    expect(await failure({ mode, connection })).toMatchObject({
      code: LockErrorCode.Options,
      message: expect.stringMatching(/no schema of the search_path.*postgresStore\(\{ schema \}\)/),
    });
    const schema = await newSchema();
    await (await (await engine({ mode, connection, schema })).acquire('one')).release();
  });

  test('what a role may not do is found out at start, and what it is granted is enough', async () => {
    const table = newName('lock');
    const { role, connection } = await newRole();
    await backend.query(postgresSchema({ mode, table }));
    for (const createTable of [true, false]) {
      expect(await failure({ mode, table, connection, createTable })).toMatchObject({
        code: LockErrorCode.Options,
        message: expect.stringMatching(`lacks .*USAGE on "public"."${table}_fence"`),
      });
    }
    await backend.query(`GRANT USAGE ON SEQUENCE ${table}_fence TO ${role}`);
    const tables = { table: [table, `${table}_waiter`], row: [`${table}_row`], advisory: [] }[mode];
    for (const name of tables) {
      await backend.query(`GRANT SELECT, INSERT, UPDATE ON ${name} TO ${role}`);
      expect(await failure({ mode, table, connection })).toMatchObject({
        message: expect.stringContaining(`DELETE on "public"."${name}"`),
      });
      await backend.query(`GRANT DELETE ON ${name} TO ${role}`);
    }
    const [locks, others] = [await engine({ mode, table, connection }), await engine({ mode, table })];
    const hold = await locks.acquire('one');
    const waiting = others.acquire('one');
    expect(await hold.release()).toBe(true);
    expect(await (await waiting).release()).toBe(true);
  });

  test('who may not create tables is told what to do', async () => {
    const schema = await newSchema();
    const { role, connection } = await newRole();
    await backend.query(`GRANT USAGE ON SCHEMA ${schema} TO ${role}`);
    expect(await failure({ mode, schema, connection })).toMatchObject({
      code: LockErrorCode.Unavailable,
      retryable: false,
      message: expect.stringMatching(/permission denied for schema.*grant CREATE on the schema.*postgresSchema\(\)/),
    });
  });

  test('a server that is read-only is named as such', async () => {
    const table = newName('lock');
    const { connection } = await newRole('default_transaction_read_only = on');
    expect(await failure({ mode, table, connection })).toMatchObject({
      code: LockErrorCode.Unavailable,
      message: expect.stringContaining('this server is read-only, connect to the primary'),
    });
  });
});
