import { fork, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import type { SqliteStoreOptions } from '../../../lib/stores/sqlite/index.js';

export interface RaceOptions {
  readonly key: string;
  /** A file with a number in it. */
  readonly counter: string;
  readonly times: number;
  /** ms */
  readonly hold: number;
  /** ms between two turns */
  readonly pause: number;
  readonly ttl?: number;
}

/** Times in ms on the host's monotonic clock. */
export interface Turn {
  readonly fence: number;
  readonly asked: number;
  readonly acquired: number;
  readonly released: number;
}

export interface Granted {
  readonly acquired: boolean;
  readonly fence: number;
  /** ms that the lease was certain for when it was granted */
  readonly left: number;
  /** ms on the host's monotonic clock */
  readonly at: number;
  readonly holder?: string;
}

interface Answer {
  readonly id: number;
  readonly value?: unknown;
  readonly error?: string;
}

/** A process with a store of its own. */
export class Member {
  #calls = 0;
  readonly #waiting = new Map<number, (answer: Answer) => void>();

  constructor(readonly process: ChildProcess) {
    process.on('message', (answer: Answer) => this.#waiting.get(answer.id)?.(answer));
  }

  open(): Promise<string> {
    return this.#call('open');
  }

  acquire(key: string, options: { ttl?: number; wait?: boolean } = {}): Promise<Granted> {
    return this.#call('acquire', key, options);
  }

  stopWaiting(key: string): Promise<void> {
    return this.#call('stopWaiting', key);
  }

  release(key: string): Promise<boolean> {
    return this.#call('release', key);
  }

  renew(key: string, ttl: number): Promise<string> {
    return this.#call('renew', key, ttl);
  }

  inspect(key: string): Promise<{ label: string; waiters: number; fence: number } | undefined> {
    return this.#call('inspect', key);
  }

  race(options: RaceOptions): Promise<Turn[]> {
    return this.#call('race', options);
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
      this.#waiting.set(id, ({ value, error }) => {
        this.#waiting.delete(id);
        if (error === undefined) resolve(value as T);
        else reject(new Error(error));
      });
      this.process.send({ id, command, args });
    });
  }
}

export interface Start {
  /** Another Node's binary. Default: this one's. */
  readonly execPath?: string;
  /** Another user. */
  readonly uid?: number | undefined;
}

/** Several processes on one host. End them with {@link Fleet.end}. */
export class Fleet {
  readonly #members: Member[] = [];

  async start(options: SqliteStoreOptions, { execPath = process.execPath, uid }: Start = {}): Promise<Member> {
    const script = join(process.cwd(), 'test/integration/stores/sqlite.worker.ts');
    const child = fork(script, [JSON.stringify(options)], {
      execPath,
      ...(uid === undefined ? {} : { uid }),
      execArgv: ['--disable-warning=ExperimentalWarning', '--import', 'tsx'],
      env: { ...process.env, NODE_OPTIONS: '' },
      stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
    });
    const member = new Member(child);
    this.#members.push(member);
    await once(child, 'message');
    await member.open();
    return member;
  }

  startAll(count: number, options: SqliteStoreOptions): Promise<Member[]> {
    return Promise.all(Array.from({ length: count }, () => this.start(options)));
  }

  async end(): Promise<void> {
    await Promise.all(this.#members.splice(0).map((member) => member.kill()));
  }
}
