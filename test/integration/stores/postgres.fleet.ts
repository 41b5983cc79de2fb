import { fork, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import type { PostgresMode } from '../../../lib/stores/postgres/index.js';

export interface Start {
  readonly url: string;
  readonly mode: PostgresMode;
  /** ms */
  readonly keepAlive?: number;
  /** ms after which the server gives up a session that holds something. */
  readonly silence?: number;
}

/** One hold; times in ms on the host's monotonic clock. */
export interface Turn {
  readonly process: number;
  readonly token: string;
  readonly asked: number;
  readonly acquired: number;
  readonly released: number;
}

/** A process with an engine and a store of its own. See postgres.worker.ts. */
export class Member {
  #calls = 0;

  constructor(readonly process: ChildProcess) {}

  /** Takes the key and keeps it. Gives the fencing token. */
  hold(key: string, ttl: number): Promise<string> {
    return this.#call('hold', key, ttl);
  }

  /** Whether it still has what it took last. */
  holds(): Promise<boolean> {
    return this.#call('holds');
  }

  /** So many callers ask at once, each of them for one hold. */
  crowd(key: string, callers: number, hold: number): Promise<Turn[]> {
    return this.#call('crowd', key, callers, hold);
  }

  async kill(): Promise<void> {
    if (this.process.exitCode !== null || this.process.signalCode !== null) return;
    const exit = once(this.process, 'exit');
    this.process.kill('SIGKILL');
    await exit;
  }

  #call<T>(command: string, ...args: readonly unknown[]): Promise<T> {
    const id = (this.#calls += 1);
    return new Promise((resolve, reject) => {
      const hear = (answer: { id: number; value?: unknown; error?: string }): void => {
        if (answer.id !== id) return;
        this.process.off('message', hear);
        if (answer.error === undefined) resolve(answer.value as T);
        else reject(new Error(answer.error));
      };
      this.process.on('message', hear);
      this.process.send({ id, command, args });
    });
  }
}

/** Several processes. End them with {@link Fleet.end}. */
export class Fleet {
  readonly #members: Member[] = [];

  async start(options: Start): Promise<Member> {
    const script = join(process.cwd(), 'test/integration/stores/postgres.worker.ts');
    const child = fork(script, [JSON.stringify(options)], {
      execArgv: ['--disable-warning=ExperimentalWarning', '--import', 'tsx'],
      env: { ...process.env, NODE_OPTIONS: '' },
      stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
    });
    const member = new Member(child);
    this.#members.push(member);
    await once(child, 'message');
    return member;
  }

  async end(): Promise<void> {
    await Promise.all(this.#members.splice(0).map((member) => member.kill()));
  }
}
