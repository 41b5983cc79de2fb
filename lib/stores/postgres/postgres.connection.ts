import { createHash } from 'node:crypto';
import type { Socket } from 'node:net';
import { systemClock } from '../../contract/index.js';
import { LockUnavailableError } from '../../errors/index.js';
import { isInFailedTransaction, isNotPrepared } from './postgres.errors.js';
import type { SqlConnection, SqlResult } from '../sql/sql.connection.js';
import type { PgClient, PgResult } from './postgres.client.js';
import { STATUS_QUESTION, transactionStatus } from './transaction-status.js';

/** Whether sessions keep statements prepared. Switched off for good when it turns out that they are not real sessions. */
export interface Preparing {
  on: boolean;
}

// By text, so that a name means the same statement everywhere.
const names = new Map<string, string>();

function nameOf(text: string): string {
  let name = names.get(text);
  if (name === undefined) {
    name = `lock_${createHash('sha256').update(text).digest('hex').slice(0, 32)}`;
    names.set(text, name);
  }
  return name;
}

const ignore = (): void => undefined;

/** One session of a pg pool. */
export class PgConnection implements SqlConnection {
  onEnded: ((cause: unknown) => void) | undefined;
  onNotification: ((payload: string) => void) | undefined;
  #over = false;
  #failPending: ((cause: unknown) => void) | undefined;
  readonly #onError = (error: unknown): void => this.#end(error);
  readonly #onEnd = (): void => this.#end(new Error('the connection was closed'));
  readonly #onNotice = (message: unknown): void =>
    this.onNotification?.((message as { payload?: string }).payload ?? '');

  /** To be made in the turn in which the client comes: an error that comes with it would have no other listener. */
  constructor(
    private readonly client: PgClient,
    private readonly address: string,
    private readonly preparing: Preparing,
  ) {
    client.on('error', this.#onError);
    client.on('end', this.#onEnd);
  }

  /** Whether nothing can be asked of it any more. */
  get isOver(): boolean {
    return this.#over;
  }

  /** Whether it is known to be outside of any transaction. */
  get isIdle(): boolean {
    return transactionStatus(this.client) === 'I';
  }

  /** Asks, where that is not known, and after what was sent and not waited for, such as a ROLLBACK. */
  async becomesIdle(timeout: number): Promise<boolean> {
    if (transactionStatus(this.client) !== undefined) return false;
    try {
      const { rows } = await this.query(STATUS_QUESTION, [], timeout);
      return (transactionStatus(this.client) ?? (rows[0]?.['outside'] === true ? 'I' : 'T')) === 'I';
    } catch (error) {
      if (transactionStatus(this.client) === 'E' || isInFailedTransaction(error)) return false;
      this.destroy();
      throw error;
    }
  }

  /** Passes on what the server announces to this session. */
  hearNotifications(): void {
    this.client.on('notification', this.#onNotice);
  }

  query(text: string, params: readonly unknown[], timeout: number): Promise<SqlResult> {
    return new Promise((resolve, reject) => {
      if (this.#over) {
        reject(new LockUnavailableError(`the connection to PostgreSQL at ${this.address} has ended`));
        return;
      }
      // First of all: the rest is done while the server works.
      const prepared = this.preparing.on && params.length > 0;
      const sent = this.#send(text, params as unknown[], prepared);
      const fail = (cause: unknown): void => {
        timer?.cancel();
        this.#failPending = undefined;
        reject(cause);
      };
      const timer = timeout === Infinity ? undefined : systemClock.after(timeout, () => this.#silent(timeout, fail));
      this.#failPending = fail;
      const succeed = ({ rows, rowCount }: PgResult): void => {
        timer?.cancel();
        this.#failPending = undefined;
        resolve({ rows: rows as SqlResult['rows'], changes: rowCount ?? 0 });
      };
      sent.then(succeed, (error: unknown) => {
        if (!prepared || !isNotPrepared(error)) {
          fail(error);
          return;
        }
        // A pooler of transactions lies between: the statement was refused before it ran.
        this.preparing.on = false;
        this.#send(text, params as unknown[], false).then(succeed, fail);
      });
    });
  }

  release(): void {
    if (this.#over) return;
    this.#over = true;
    this.#detach();
    this.client.release();
  }

  destroy(): void {
    this.#destroy(new Error('the connection was given up'));
  }

  #send(text: string, values: unknown[], prepared: boolean): Promise<PgResult> {
    return this.client.query(prepared ? { text, values, name: nameOf(text) } : { text, values });
  }

  #silent(timeout: number, fail: (cause: unknown) => void): void {
    // After a blocked event loop the answer may have arrived long ago: it is heard first.
    setImmediate(() =>
      setImmediate(() => {
        if (this.#failPending !== fail) return;
        this.#destroy(
          new LockUnavailableError(`PostgreSQL at ${this.address} did not answer within ${Math.round(timeout)} ms`),
        );
      }),
    );
  }

  #end(cause: unknown): void {
    if (this.#over) return;
    this.#destroy(cause);
    this.onEnded?.(cause);
  }

  #destroy(cause: unknown): void {
    if (this.#over) return;
    this.#over = true;
    this.#detach();
    // Whatever happens to it now concerns nobody: without a listener an error would end the process.
    this.client.on('error', ignore);
    this.#failPending?.(cause);
    resetSocket(this.client);
    // A pool reports the errors of the clients that it has back; so it gets this one when there are no more to come.
    setImmediate(() => setImmediate(() => this.client.release(true)));
  }

  #detach(): void {
    this.client.removeListener('error', this.#onError);
    this.client.removeListener('end', this.#onEnd);
    this.client.removeListener('notification', this.#onNotice);
  }
}

/** Ends a connection so that nothing which is still on its way out is delivered later. */
function resetSocket(client: PgClient): void {
  const { connection } = client as { connection?: { stream?: Partial<Socket> & { encrypted?: boolean } } };
  const stream = connection?.stream;
  if (!stream) return;
  if (stream.encrypted || !stream.resetAndDestroy) stream.destroy?.();
  else stream.resetAndDestroy();
}
