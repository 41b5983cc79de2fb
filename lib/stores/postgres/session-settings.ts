import type { AskSession } from '../sql/session/session.dialect.js';
import { LABEL_SETTING } from './session-label.js';

/** What a session is known by, and how it was before it became ours. */
export interface SessionId {
  readonly pid: number;
  /** When it began, in s since 1970: numbers of processes come round. */
  readonly start: string;
  readonly before: Readonly<Record<string, string>>;
}

const CHECK = 'client_connection_check_interval';
// The largest numbers that the settings take, in ms, and Linux for its keep-alive, in s.
const LONGEST = 2 ** 31 - 1;
const LONGEST_KEEPALIVE = 32_767;
const START = 'extract(epoch FROM backend_start)::text';

/**
 * A lock may be held and waited for as long as its holder likes. But a session that is not heard of for so many ms gives
 * no sign of life: its process is stopped, or its host has vanished, and the server ends it. One that waits is not idle.
 */
function limits(silence: number): Readonly<Record<string, string>> {
  const ms = String(Math.min(silence, LONGEST));
  const seconds = (part: number): string => String(Math.min(Math.ceil(silence / part / 1_000), LONGEST_KEEPALIVE));
  return {
    statement_timeout: '0',
    lock_timeout: '0',
    transaction_timeout: '0',
    idle_in_transaction_session_timeout: ms,
    idle_session_timeout: ms,
    // For a wait whose host has vanished, and for answers that nobody takes.
    tcp_keepalives_idle: seconds(2),
    tcp_keepalives_interval: seconds(6),
    tcp_keepalives_count: '3',
    tcp_user_timeout: ms,
  };
}

/** Sets a session up to hold locks, and has the server look whether its client is still there while it waits (14 and later). */
export async function setLimits(ask: AskSession, silence: number): Promise<SessionId> {
  const wanted = limits(silence);
  const names = [...Object.keys(wanted), CHECK, LABEL_SETTING];
  const { rows } = await ask(
    `SELECT pid, ${START} AS start, ARRAY(SELECT current_setting(name, true) FROM unnest($1::text[]) AS name) AS before
    FROM pg_stat_activity WHERE pid = pg_backend_pid()`,
    [names],
  );
  const row = rows[0] as { pid: number; start: string; before: (string | null)[] };
  const before: Record<string, string> = {};
  row.before.forEach((value, index) => {
    if (value !== null) before[names[index] as string] = value;
  });
  // What is not known to an older server is left alone.
  await set(ask, Object.fromEntries(Object.entries(wanted).filter(([name]) => name in before)));
  if (CHECK in before) {
    // Not every operating system can: a waiter that was killed then stays in the queue until its turn comes.
    await set(ask, { [CHECK]: '1000' }).catch(() => undefined);
  }
  return { pid: row.pid, start: row.start, before };
}

export async function restoreSettings(ask: AskSession, { before }: SessionId): Promise<void> {
  await set(ask, before);
}

async function set(ask: AskSession, values: Readonly<Record<string, string>>): Promise<void> {
  const names = Object.keys(values);
  await ask(`SELECT set_config(name, value, false) FROM unnest($1::text[], $2::text[]) AS setting (name, value)`, [
    names,
    names.map((name) => values[name]),
  ]);
}

const PAUSE = 10;

/** Ends one of our sessions. A session that is gone has given up its locks before. */
export async function terminateSession(ask: AskSession, { pid, start }: SessionId, timeout: number): Promise<void> {
  const end = performance.now() + timeout;
  for (;;) {
    const { rows } = await ask(
      `SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE pid = $1 AND ${START} = $2`,
      [pid, start],
    );
    if (rows.length === 0) return;
    if (performance.now() > end) throw new Error(`session ${pid} has not ended yet`);
    await new Promise((resolve) => setTimeout(resolve, PAUSE));
  }
}

/** Whether the session waits for a lock. */
export async function waitsForLock(ask: AskSession, { pid }: SessionId): Promise<boolean> {
  const { rows } = await ask('SELECT FROM pg_locks WHERE pid = $1 AND NOT granted LIMIT 1', [pid]);
  return rows.length > 0;
}
