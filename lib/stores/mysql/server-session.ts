import { setTimeout as sleep } from 'node:timers/promises';
import type { AskSession } from '../sql/session/session.dialect.js';
import { errorNumber } from './mysql.errors.js';

/** What the server knows a session by, and how its settings were before. */
export interface ServerSession {
  readonly connection: number;
  readonly server: string;
  /** s that the server had been up. */
  readonly uptime: number;
  /** When that was, on the monotonic clock of this process. */
  readonly at: number;
  readonly before: Readonly<Record<SessionVariable, number>>;
  /** `REPEATABLE READ`, as it is written in a statement. */
  readonly isolation: string;
}

type SessionVariable = 'autocommit' | 'wait_timeout' | 'innodb_lock_wait_timeout';

const NO_SUCH_THREAD = 1094;
// A killed session goes within milliseconds, unless its transaction takes long to undo.
const LOOKS = 40;
const PAUSE = 10;

/** @param settings what the session is to be set to: numbers, or SQL expressions */
export async function enterSession(
  ask: AskSession,
  settings: Readonly<Partial<Record<SessionVariable, number | string>>>,
): Promise<ServerSession> {
  const { rows } = await ask(
    'SELECT CONNECTION_ID() AS connection, @@SESSION.autocommit AS autocommit, @@SESSION.wait_timeout AS wait_timeout, ' +
      '@@SESSION.innodb_lock_wait_timeout AS innodb_lock_wait_timeout',
  );
  const { connection, ...before } = rows[0] as Record<SessionVariable | 'connection', number>;
  const isolation = await isolationOf(ask);
  const session = { connection, before, isolation, ...(await identify(ask)), at: performance.now() };
  await ask(set(settings));
  // What is not there is not locked either: else the gap between two keys would be.
  await ask(isolate('READ COMMITTED'));
  return session;
}

export async function leaveSession(ask: AskSession, { before, isolation }: ServerSession): Promise<void> {
  await ask(set(before));
  await ask(isolate(isolation));
}

/** Ends a session, and resolves when it is gone. */
export async function endSession(ask: AskSession, session: ServerSession): Promise<void> {
  // The sessions of a server that has restarted are gone, and their numbers are others' by now.
  const { server, uptime } = await identify(ask);
  const elapsed = (performance.now() - session.at) / 1_000;
  if (server !== session.server || uptime < session.uptime || uptime - session.uptime < elapsed - 2) return;
  await kill(ask, session.connection);
}

/** Ends whichever session has that number, and resolves when it is gone. */
export async function kill(ask: AskSession, connection: number): Promise<void> {
  try {
    await ask(`KILL CONNECTION ${connection}`);
  } catch (error) {
    if (errorNumber(error) === NO_SUCH_THREAD) return;
    throw error;
  }
  for (let look = 0; look < LOOKS; look += 1) {
    if (!(await exists(ask, connection))) return;
    await sleep(PAUSE);
  }
  throw new Error(`the session ${connection} was killed, and is still there`);
}

/** Whether the session is at a statement, which for one that asked for a lock means that it waits. */
export async function isBusy(ask: AskSession, { connection }: ServerSession): Promise<boolean> {
  return exists(ask, connection, `AND COMMAND = 'Query'`);
}

async function exists(ask: AskSession, connection: number, further = ''): Promise<boolean> {
  const { rows } = await ask(
    `SELECT 1 AS found FROM information_schema.PROCESSLIST WHERE ID = ${connection} ${further}`,
  );
  return rows.length > 0;
}

async function identify(ask: AskSession): Promise<{ readonly server: string; readonly uptime: number }> {
  const { rows } = await ask(`SHOW GLOBAL STATUS LIKE 'Uptime'`);
  const { rows: names } = await ask(`SELECT CONCAT(@@hostname, ':', @@port) AS server`);
  return { server: String(names[0]?.['server']), uptime: Number(rows[0]?.['Value']) };
}

// The two servers have different names for the variable.
async function isolationOf(ask: AskSession): Promise<string> {
  const { rows } = await ask(`SHOW SESSION VARIABLES WHERE Variable_name IN ('tx_isolation', 'transaction_isolation')`);
  return ((rows[0]?.['Value'] as string | undefined) ?? 'REPEATABLE-READ').replace('-', ' ');
}

function isolate(level: string): string {
  return `SET SESSION TRANSACTION ISOLATION LEVEL ${level}`;
}

function set(values: Readonly<Partial<Record<SessionVariable, number | string>>>): string {
  return `SET ${Object.entries(values)
    .map(([name, value]) => `SESSION ${name} = ${value}`)
    .join(', ')}`;
}
