import { spawn, type ChildProcess, type SpawnOptions } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';

export interface ServerProcessOptions extends Pick<SpawnOptions, 'cwd' | 'uid' | 'gid' | 'detached'> {
  /** All processes of the server, of which the first was started. Default: that one alone. */
  readonly pidsOf?: (first: number) => readonly number[];
}

/** A server's process. One that its test leaves behind ends with the test's own. */
export class ServerProcess {
  readonly #process: ChildProcess;
  readonly #pidsOf: (first: number) => readonly number[];
  readonly #failed: Promise<never>;
  #output = '';

  constructor(
    program: string,
    args: readonly string[],
    { pidsOf = (first) => [first], ...options }: ServerProcessOptions = {},
  ) {
    const started = spawn(program, args, { ...options, stdio: ['ignore', 'pipe', 'pipe'] });
    this.#process = started;
    this.#pidsOf = pidsOf;
    const end = (): void => this.#signal('SIGKILL');
    process.once('exit', end);
    started.once('exit', () => process.off('exit', end));
    for (const stream of [started.stdout, started.stderr]) {
      stream.on('data', (chunk: Buffer) => (this.#output = (this.#output + chunk.toString()).slice(-20_000)));
    }
    this.#failed = new Promise<never>((_, reject) => {
      started.once('error', (cause) => reject(new Error(`${program} cannot be run: is it installed?`, { cause })));
      started.once('exit', (code) => reject(new Error(`${program} ended with code ${code}:\n${this.#output}`)));
    });
    this.#failed.catch(() => undefined);
  }

  /** The last of what it has said. */
  get output(): string {
    return this.#output;
  }

  /** 0 once it has ended. */
  get pid(): number {
    return this.#ended ? 0 : (this.#process.pid ?? 0);
  }

  /** Waits until it is ready for clients. Rejects when it ends before, or takes more than a minute. */
  async until(ready: (output: string) => boolean | Promise<boolean>): Promise<void> {
    const limit = performance.now() + 60_000;
    while (!(await ready(this.#output))) {
      if (performance.now() > limit) {
        await this.kill();
        throw new Error(`a server did not become ready:\n${this.#output}`);
      }
      await Promise.race([this.#failed, sleep(10)]);
    }
  }

  /** Freezes it: connections stay, nothing is answered. Resolves when the last of its threads has stopped. */
  async pause(): Promise<void> {
    this.#signal('SIGSTOP');
    // They stop one by one, and any that runs on may still answer.
    while (this.#pids().some(hasRunningThread)) await sleep(1);
  }

  resume(): void {
    this.#signal('SIGCONT');
  }

  /** Ends it at once, as a crash would. */
  async kill(): Promise<void> {
    if (this.#ended) return;
    const exited = once(this.#process, 'exit');
    this.#signal('SIGKILL');
    await exited;
  }

  get #ended(): boolean {
    return this.#process.pid === undefined || this.#process.exitCode !== null || this.#process.signalCode !== null;
  }

  #pids(): readonly number[] {
    return this.#ended ? [] : this.#pidsOf(this.pid);
  }

  #signal(signal: NodeJS.Signals): void {
    for (const pid of this.#pids()) {
      try {
        process.kill(pid, signal);
      } catch {
        // It has ended meanwhile.
      }
    }
  }
}

function hasRunningThread(pid: number): boolean {
  const threads = `/proc/${pid}/task`;
  if (!existsSync(threads)) return false;
  return readdirSync(threads).some((thread) => {
    try {
      // The name, in brackets, may hold anything. Stopped, or ended.
      return !/^.*\) [TZX]/.test(readFileSync(join(threads, thread, 'stat'), 'utf8'));
    } catch {
      return false;
    }
  });
}
