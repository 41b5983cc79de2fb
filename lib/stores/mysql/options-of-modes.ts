import { LockOptionsError } from '../../errors/index.js';
import type { MysqlMode } from './mysql.modes.js';
import type { MysqlStoreOptions } from './mysql-store.options.js';

const POLLING: readonly MysqlMode[] = ['table'];
const SESSIONS: readonly MysqlMode[] = ['row', 'named'];

/**
 * Options that would do nothing are a misunderstanding.
 *
 * @throws LockOptionsError saying what they are for
 */
export function refuseOthers(options: MysqlStoreOptions, mode: MysqlMode, place: string): void {
  const refuse = (name: keyof MysqlStoreOptions, modes: readonly MysqlMode[], hint = ''): void => {
    if (options[name] === undefined || modes.includes(mode)) return;
    const list = modes.map((each) => `'${each}'`).join(' or ');
    throw new LockOptionsError(
      `${place}: ${name} is for mode ${list}, and does nothing in mode '${mode}'${hint}. Leave it out.`,
    );
  };
  refuse('pollInterval', POLLING);
  refuse('keepAlive', SESSIONS);
  // There it is the size of the pool that the store makes.
  if (options.pool !== undefined) {
    refuse('maxConnections', SESSIONS, ` with a pool of your own, whose size is its connectionLimit`);
  }
}
