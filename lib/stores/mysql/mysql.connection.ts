import { LockUnavailableError } from '../../errors/index.js';
import type { SqlConnection, SqlResult } from '../sql/sql.connection.js';
import type { CoreConnection, MysqlReply } from './mysql.client.js';
import { isNotPrepared, isWithinTransaction } from './mysql.errors.js';

// Whatever the pool was configured with: the store reads plain rows with plain numbers.
const PLAIN = {
  rowsAsArray: false,
  nestTables: false,
  namedPlaceholders: false,
  typeCast: true,
  supportBigNumbers: true,
  bigNumberStrings: false,
  decimalNumbers: false,
  infileStreamFactory: undefined,
};

// Of the status flags that come with every answer but that of a query, of which the driver keeps them to itself.
const IN_TRANSACTION = 1;
const AUTOCOMMIT = 2;
const QUERY = /^\s*(SELECT|SHOW)\b/;
/** What would commit a transaction of somebody else. */
const COMMITTING = /^\s*(START|CREATE)\b/;

const ignore = (): void => undefined;

/** One session, for as long as it is out of its pool. */
export class MysqlConnection implements SqlConnection {
  onEnded: ((cause: unknown) => void) | undefined;
  #state: 'open' | 'ended' | 'released' = 'open';
  #reason: unknown;
  /** Whether it is known to be outside of others' transactions, so that what is done by one statement is committed. */
  #clean = false;
  readonly #pending = new Set<(error: unknown) => void>();
  readonly #hear: (error?: unknown) => void;

  constructor(
    private readonly core: CoreConnection,
    private readonly address: string,
    /** Whether others use the pool as well, and may have returned the connection in any state. */
    private readonly shared: boolean,
    /** Statements that sessions keep prepared. Emptied for good where the server keeps none. */
    private readonly prepared: Set<string>,
  ) {
    this.#hear = (error) => this.#ended(error ?? new Error('the server closed the connection'));
    core.on('error', this.#hear);
    core.on('end', this.#hear);
  }

  get ended(): boolean {
    return this.#state === 'ended';
  }

  async query(text: string, params: readonly unknown[], timeout: number): Promise<SqlResult> {
    // Before the first statement, unless its own answer tells soon enough.
    const asks = !this.#clean && (COMMITTING.test(text) || (this.shared && QUERY.test(text)));
    if (asks) await this.#query('DO 0', [], timeout);
    return this.#query(text, params, timeout);
  }

  #query(text: string, params: readonly unknown[], timeout: number): Promise<SqlResult> {
    return new Promise((resolve, reject) => {
      if (this.#state !== 'open') {
        reject(this.#gone());
        return;
      }
      let timer: NodeJS.Timeout | undefined;
      const settle = (): void => {
        clearTimeout(timer);
        this.#pending.delete(fail);
      };
      const fail = (error: unknown): void => {
        settle();
        reject(error);
      };
      this.#pending.add(fail);
      // First of all: the rest is done while the server works.
      this.#send(text, params.map(literal), (error, reply) => {
        settle();
        if (error) reject(!this.#clean && isWithinTransaction(error) ? this.#notCommitted() : error);
        else if (!this.#isClean(reply)) reject(this.#notCommitted());
        else resolve(resultOf(reply));
      });
      if (Number.isFinite(timeout)) timer = setTimeout(() => this.#silent(timeout, fail), timeout).unref();
    });
  }

  release(): void {
    if (this.#state !== 'open') return;
    this.#state = 'released';
    this.core.off('error', this.#hear);
    this.core.off('end', this.#hear);
    this.core.release();
  }

  destroy(): void {
    if (this.#state === 'released') return;
    const open = this.#state === 'open';
    this.#state = 'ended';
    this.onEnded = undefined;
    if (open) this.#discard();
    // mysql2 forgets the callbacks of a connection that is destroyed.
    for (const fail of [...this.#pending]) fail(this.#gone());
  }

  #send(sql: string, values: unknown[], done: (error: Error | null, reply: MysqlReply) => void): void {
    const options = { ...PLAIN, sql, values };
    if (!this.prepared.has(sql)) {
      this.core.query(options, done);
      return;
    }
    this.core.execute(options, (error, reply) => {
      if (!isNotPrepared(error)) {
        done(error, reply);
        return;
      }
      this.prepared.clear();
      this.core.query(options, done);
    });
  }

  #silent(timeout: number, fail: (error: unknown) => void): void {
    // A blocked event loop makes timers late as well: an answer that has come meanwhile is read first.
    setImmediate(() => {
      if (!this.#pending.has(fail)) return;
      this.#reason = new Error(`no answer within ${timeout} ms`);
      fail(new LockUnavailableError(`mysql at ${this.address}: no answer within ${timeout} ms`));
      this.#ended(this.#reason);
    });
  }

  #ended(cause: unknown): void {
    if (this.#state !== 'open') return;
    this.#state = 'ended';
    this.#reason ??= cause;
    this.#discard();
    for (const fail of [...this.#pending]) fail(this.#gone());
    const { onEnded } = this;
    this.onEnded = undefined;
    onEnded?.(cause);
  }

  #discard(): void {
    this.core.off('end', this.#hear);
    this.core.off('error', this.#hear);
    // An error event that nobody hears would end the process.
    this.core.on('error', ignore);
    this.core.destroy();
    // destroy() only says goodbye, and a server that hears nothing would keep the socket for minutes.
    this.core.stream?.destroy?.();
  }

  #isClean(reply: MysqlReply): boolean {
    const { serverStatus } = reply as { serverStatus?: number };
    // What comes later is our own doing.
    if (this.#clean || serverStatus === undefined) return true;
    this.#clean = (serverStatus & (IN_TRANSACTION | AUTOCOMMIT)) === AUTOCOMMIT;
    return this.#clean;
  }

  // What somebody else might undo, or commit only later, locks nothing.
  #notCommitted(): LockUnavailableError {
    this.destroy();
    return new LockUnavailableError(
      `mysql at ${this.address}: the pool gave a connection that is within a transaction, or has autocommit off. ` +
        'Return connections after COMMIT or ROLLBACK, or let the store make a pool of its own (connection)',
    );
  }

  #gone(): LockUnavailableError {
    return new LockUnavailableError(`mysql at ${this.address}: the connection has ended`, { cause: this.#reason });
  }
}

const PLAIN_TEXT = /^[\w.:-]*$/;

/**
 * mysql2 puts values into the text, with backslashes that a server in the mode NO_BACKSLASH_ESCAPES takes for
 * themselves, and in the connection's character set. Bytes are written in hexadecimal, which is safe from both.
 */
function literal(value: unknown): unknown {
  return typeof value === 'string' && !PLAIN_TEXT.test(value) ? Buffer.from(value, 'utf8') : value;
}

function resultOf(reply: MysqlReply): SqlResult {
  if (Array.isArray(reply)) return { rows: reply as SqlResult['rows'], changes: 0 };
  const { affectedRows = 0, insertId = 0 } = reply as { affectedRows?: number; insertId?: number | string };
  return { rows: [], changes: affectedRows, insertId: BigInt(insertId) };
}
