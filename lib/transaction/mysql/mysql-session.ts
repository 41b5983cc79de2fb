import type { Statements } from '../statements.js';

/** What has to be known of a session before a lock. */
export interface MysqlSession {
  readonly isMariadb: boolean;
  /** Its `innodb_lock_wait_timeout`, in seconds. */
  readonly lockWaitTimeout: number;
  /** Where its tables are. */
  readonly database: string;
}

export async function askSession(statements: Statements): Promise<MysqlSession> {
  const { server, seconds, place } = await statements.one(
    'SELECT VERSION() AS server, @@SESSION.innodb_lock_wait_timeout AS seconds, DATABASE() AS place',
  );
  return { isMariadb: String(server).includes('MariaDB'), lockWaitTimeout: Number(seconds), database: String(place) };
}
