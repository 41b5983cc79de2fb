import { LockUnavailableError } from '../../errors/index.js';
import type { RedisNode } from './redis.driver.js';

/** How many replicas must have a lock before it counts. */
export interface WaitReplicas {
  readonly count: number;
  /** ms. */
  readonly timeout: number;
}

/** Which connection to which server this is: a server's number for it, and both ends. */
export async function identityOf(node: RedisNode): Promise<string> {
  const text = String(await node.command('CLIENT', 'INFO'));
  return /^id=\d+ addr=\S+ laddr=\S+/.exec(text)?.[0] ?? text;
}

interface Asked {
  readonly answer: Promise<number>;
  next?: Promise<number>;
}

/**
 * Asks replicas for what was written on a connection.
 *
 * WAIT asks about the writes of its own connection, and a new one has none: it would be told at once that all is well. So the
 * connection must be the same before the script and after the question. And WAIT holds up its connection: there is one at a
 * time, and all that was written meanwhile shares the next.
 *
 * @see https://redis.io/docs/latest/commands/wait/
 */
export class ReplicaConfirmations {
  readonly #asked = new Map<string, Asked>();

  constructor(
    private readonly settings: WaitReplicas,
    private readonly address: () => string,
  ) {}

  /**
   * Rejects unless so many replicas have what was written.
   *
   * @param before which connection it was when the script was sent
   */
  async confirm(node: RedisNode, before: Promise<string>): Promise<void> {
    const { count, timeout } = this.settings;
    const acknowledged = await this.#ask(node, await before);
    if (acknowledged >= count) return;
    throw new LockUnavailableError(
      `redis at ${this.address()}: ${acknowledged} of ${count} replicas confirmed the lock within ${timeout} ms (waitReplicas)`,
    );
  }

  #ask(node: RedisNode, connection: string): Promise<number> {
    const asked = this.#asked.get(connection);
    if (asked === undefined) return this.#start(node, connection);
    const start = (): Promise<number> => this.#start(node, connection);
    return (asked.next ??= asked.answer.then(start, start));
  }

  #start(node: RedisNode, connection: string): Promise<number> {
    const answer = this.#wait(node, connection);
    const asked: Asked = { answer };
    this.#asked.set(connection, asked);
    const forget = (): void => {
      if (asked.next === undefined && this.#asked.get(connection) === asked) this.#asked.delete(connection);
    };
    answer.then(forget, forget);
    return answer;
  }

  async #wait(node: RedisNode, connection: string): Promise<number> {
    const { count, timeout } = this.settings;
    const [acknowledged, after] = await Promise.all([
      node.command('WAIT', String(count), String(Math.ceil(timeout))),
      identityOf(node),
    ]);
    if (after === connection) return Number(acknowledged);
    throw new LockUnavailableError(
      `redis at ${this.address()}: the connection was lost before replicas confirmed the lock`,
    );
  }
}
