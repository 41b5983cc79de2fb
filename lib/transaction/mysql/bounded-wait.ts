import type { TransactionLock } from '../transaction-lock.js';
import type { MysqlSession } from './mysql-session.js';

// Seconds. MariaDB takes this for "no limit"; MySQL allows more, but three years will do.
const LONGEST = 100_000_000;

/** Runs a statement that waits for a row lock no longer than what is left of the call's wait. */
export async function runBounded(lock: TransactionLock, session: MysqlSession, text: string): Promise<void> {
  const { statements } = lock;
  const wait = Math.max(0, lock.remaining);
  if (session.isMariadb) {
    await statements.run(`SET STATEMENT ${mariadbBounds(lock, wait)} FOR ${text}`, wait);
    return;
  }
  const bound = wholeSeconds(wait, 1);
  await statements.run(`SET SESSION innodb_lock_wait_timeout = ${bound}`);
  try {
    await statements.run(text, bound * 1_000);
  } finally {
    await statements
      .run(`SET SESSION innodb_lock_wait_timeout = ${session.lockWaitTimeout}`)
      // The session is gone, and its settings with it: what the statement itself failed with says more.
      .catch(() => undefined);
  }
}

// InnoDB counts whole seconds; the limit on the statement as a whole counts milliseconds, and comes first.
function mariadbBounds({ settings }: TransactionLock, wait: number): string {
  if (settings.wait === 0) return 'innodb_lock_wait_timeout = 0';
  const statement = wait < LONGEST * 1_000 ? Math.max(1, Math.ceil(wait)) / 1_000 : 0;
  return `innodb_lock_wait_timeout = ${wholeSeconds(wait + 1_000, 1)}, max_statement_time = ${statement}`;
}

function wholeSeconds(wait: number, least: number): number {
  return Math.min(LONGEST, Math.max(least, Math.ceil(wait / 1_000)));
}
