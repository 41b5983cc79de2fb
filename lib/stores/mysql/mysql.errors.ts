import { LockUnavailableError, isLockError, type LockError } from '../../errors/index.js';

/** Another's transaction was in the way, and the server has undone the statement: the same may be sent again. */
const CONFLICTS = new Set([1213, 1205, 1020]);

// Trying again cannot help until somebody changes the configuration or the privileges.
const PERMANENT = new Set([
  1044, 1045, 1046, 1049, 1054, 1064, 1103, 1142, 1143, 1146, 1227, 1251, 1290, 1364, 1406, 1698, 1792, 1820, 1836,
  1862, 3118, 3159, 4151,
]);
const PERMANENT_CODES = new Set(['HANDSHAKE_NO_SSL_SUPPORT', 'HANDSHAKE_SSL_ERROR', 'AUTH_SWITCH_PLUGIN_ERROR']);

/** The server's number of an error, or 0. https://dev.mysql.com/doc/mysql-errors/8.0/en/server-error-reference.html */
export function errorNumber(error: unknown): number {
  const { errno } = Object(error) as { errno?: unknown };
  // Node's own errors have negative ones.
  return typeof errno === 'number' && errno > 0 ? errno : 0;
}

export function isConflict(error: unknown): boolean {
  return CONFLICTS.has(errorNumber(error));
}

export function isMissingTable(error: unknown): boolean {
  return errorNumber(error) === 1146;
}

/** `SET TRANSACTION` within a transaction. */
export function isWithinTransaction(error: unknown): boolean {
  return errorNumber(error) === 1568;
}

/** The server keeps no more prepared statements (`max_prepared_stmt_count`), or a proxy knows of none. Nothing was carried out. */
export function isNotPrepared(error: unknown): boolean {
  return [1461, 1295, 1243].includes(errorNumber(error));
}

/** The server shuts down, or somebody has killed the session. */
const ENDED = new Set([1053, 1079, 1927, 3168]);

/** Whether the server itself says that it has ended the session. */
export function endedByServer(error: unknown): boolean {
  const cause = error instanceof LockUnavailableError ? error.cause : error;
  return ENDED.has(errorNumber(cause)) || (Object(cause) as { code?: unknown }).code === 'PROTOCOL_CONNECTION_LOST';
}

/** What mysql2 threw, as our error. */
export function unavailable(error: unknown, address: string): LockError {
  if (isLockError(error)) return error;
  const number = errorNumber(error);
  const code = (Object(error) as { code?: unknown }).code;
  const permanent = PERMANENT.has(number) || (typeof code === 'string' && PERMANENT_CODES.has(code));
  return new LockUnavailableError(`mysql at ${address}: ${textOf(error)}${hintOf(number, textOf(error))}`, {
    cause: clean(error),
    retryable: !permanent,
  });
}

/** A copy that can be logged: mysql2's own error carries the statement with its values. */
function clean(error: unknown): Error {
  const copy: Error & { code?: unknown; errno?: unknown } = new Error(textOf(error));
  const { code, errno } = Object(error) as { code?: unknown; errno?: unknown };
  if (code !== undefined) copy.code = code;
  if (errno !== undefined) copy.errno = errno;
  return copy;
}

function textOf(error: unknown): string {
  if (error instanceof AggregateError && !error.message) return error.errors.map(textOf).join('; ');
  if (error instanceof Error) return error.message || (error as NodeJS.ErrnoException).code || error.name;
  return String(error);
}

function hintOf(number: number, text: string): string {
  if (number === 1142 && /^CREATE /.test(text)) {
    return '. Grant CREATE, or run mysqlSchema() as a migration and set createTable: false';
  }
  if (number === 1142 || number === 1143) {
    return ". The user needs SELECT, INSERT and DELETE on the store's tables, and UPDATE in mode 'table'";
  }
  // It stands for other settings of a server as well.
  if (number === 1836 || (number === 1290 && /read[- _]only/i.test(text))) {
    return '. This server is read-only: connect to the primary';
  }
  if (number === 1792)
    return '. The session is read-only (transaction_read_only), as on a replica: connect to the primary';
  if (number === 1054) return '. Is it a table of somebody else? Name another by the option table';
  if (number === 1146) return '. Create the tables by mysqlSchema(), or set createTable: true';
  if (number === 3058) return '. GET_LOCK() found a deadlock: nothing was taken';
  if (number === 1213) return '. The server ended a deadlock: nothing was taken';
  return '';
}
