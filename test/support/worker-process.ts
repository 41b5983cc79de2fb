import { fork, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';

interface Answer {
  readonly id: number;
  readonly value?: unknown;
  readonly error?: string;
}

/** A process of its own that runs a file of test/support and does what it is called for, as its parent sees it. */
export class WorkerProcess {
  readonly pid: number;
  #calls = 0;
  #expectedEnd = false;
  #failure: Error | undefined;
  readonly #waiting = new Map<number, { resolve(value: unknown): void; reject(error: Error): void }>();

  protected constructor(private readonly child: ChildProcess) {
    this.pid = child.pid!;
    child.on('message', ({ id, value, error }: Answer) => {
      const call = this.#waiting.get(id);
      this.#waiting.delete(id);
      if (error === undefined) call?.resolve(value);
      else call?.reject(new Error(error));
    });
    child.on('exit', (code, signal) => {
      const error = new Error(`worker ${this.pid} ended (${code ?? signal})`);
      if (!this.#expectedEnd) this.#failure = error;
      for (const { reject } of this.#waiting.values()) reject(error);
    });
  }

  protected static spawn(file: string, config: unknown, nodeOptions: readonly string[] = []): ChildProcess {
    return fork(join(process.cwd(), 'test/support', file), [JSON.stringify(config)], {
      execArgv: ['--disable-warning=ExperimentalWarning', ...nodeOptions, '--import', 'tsx'],
      env: { ...process.env, NODE_OPTIONS: '' },
      stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
    });
  }

  /** Resolves when the worker has said that it is there. */
  protected ready<T = void>(): Promise<T> {
    return this.#answer(0) as Promise<T>;
  }

  /** Why it ended although nobody ended it. */
  get failure(): Error | undefined {
    return this.#failure;
  }

  /** Stops its clock hand. */
  pause(): void {
    this.child.kill('SIGSTOP');
  }

  resume(): void {
    this.child.kill('SIGCONT');
  }

  /** Lets it finish what it does. */
  async stop(): Promise<void> {
    this.#expectedEnd = true;
    await this.call('stop');
    await this.kill();
  }

  /** @returns when it was dead at the latest, in ns */
  async kill(): Promise<bigint> {
    this.#expectedEnd = true;
    if (this.child.exitCode !== null || this.child.signalCode !== null) return process.hrtime.bigint();
    const exit = once(this.child, 'exit');
    this.child.kill('SIGKILL');
    const at = process.hrtime.bigint();
    await exit;
    return at;
  }

  protected call<T>(command: string, ...args: readonly unknown[]): Promise<T> {
    const id = (this.#calls += 1);
    this.child.send({ id, command, args });
    return this.#answer(id) as Promise<T>;
  }

  #answer(id: number): Promise<unknown> {
    return new Promise((resolve, reject) => this.#waiting.set(id, { resolve, reject }));
  }
}
