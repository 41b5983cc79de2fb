import { fork, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import type { HammerOptions, WorkerConfig, WorkerReport } from './fault-worker.config.js';

interface Answer {
  readonly id: number;
  readonly value?: unknown;
  readonly error?: string;
}

/** A worker, seen from the test that started it. */
export class FaultWorker {
  readonly pid: number;
  #calls = 0;
  #expectedEnd = false;
  #failure: Error | undefined;
  readonly #waiting = new Map<number, { resolve(value: unknown): void; reject(error: Error): void }>();

  private constructor(private readonly child: ChildProcess) {
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

  static async start(config: WorkerConfig): Promise<FaultWorker> {
    const child = fork(join(process.cwd(), 'test/support/fault-worker.ts'), [JSON.stringify(config)], {
      execArgv: ['--disable-warning=ExperimentalWarning', '--import', 'tsx'],
      env: { ...process.env, NODE_OPTIONS: '' },
      stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
    });
    const worker = new FaultWorker(child);
    await worker.#answer(0);
    return worker;
  }

  /** Why it ended although nobody ended it. */
  get failure(): Error | undefined {
    return this.#failure;
  }

  hammer(options: HammerOptions): Promise<void> {
    return this.#call('hammer', options);
  }

  reset(): Promise<void> {
    return this.#call('reset');
  }

  report(): Promise<WorkerReport> {
    return this.#call('report');
  }

  acquire(key: string, ttl: number): Promise<void> {
    return this.#call('acquire', key, ttl);
  }

  spinUntilStopped(gap: number): Promise<{ heldAfter: boolean; released: boolean }> {
    return this.#call('spinUntilStopped', gap);
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
    await this.#call('stop');
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

  #call<T>(command: string, ...args: readonly unknown[]): Promise<T> {
    const id = (this.#calls += 1);
    this.child.send({ id, command, args });
    return this.#answer(id) as Promise<T>;
  }

  #answer(id: number): Promise<unknown> {
    return new Promise((resolve, reject) => this.#waiting.set(id, { resolve, reject }));
  }
}
