import { fork, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { checkHistory, type HistoryEvent, type HistoryReport } from '../../lib/testing/index.js';
import type { WorkerReport } from './fault-worker.config.js';
import type { ClusterWorkerCommand, ClusterWorkerConfig } from './redis-cluster-worker.js';

type Line = Record<'token' | 'at' | 'validUntil', string> & Omit<HistoryEvent, 'token' | 'at' | 'validUntil'>;

/** A worker, seen from the test that started it. */
export interface ClusterWorker {
  readonly pid: number;
  readonly child: ChildProcess;
}

/** Several processes that race on a cluster, and what they have written down. */
export class RedisClusterRun {
  readonly workers: ClusterWorker[] = [];
  /** Which of them ended although nobody ended them. */
  readonly failures: string[] = [];
  readonly #folder = mkdtempSync(join(tmpdir(), 'fault-history-'));
  readonly #deaths = new Map<number, bigint>();
  #started = 0;

  constructor(private readonly config: Omit<ClusterWorkerConfig, 'history' | 'family'>) {}

  async start(family: ClusterWorkerConfig['family']): Promise<void> {
    const history = join(this.#folder, String((this.#started += 1)));
    const config: ClusterWorkerConfig = { ...this.config, family, history };
    const child = fork(join(process.cwd(), 'test/support/redis-cluster-worker.ts'), [JSON.stringify(config)], {
      execArgv: ['--disable-warning=ExperimentalWarning', '--import', 'tsx'],
      env: { ...process.env, NODE_OPTIONS: '' },
      stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
    });
    const worker = { pid: child.pid!, child };
    child.on('exit', (code, signal) => {
      if (this.workers.includes(worker)) this.failures.push(`worker ${worker.pid} ended (${code ?? signal})`);
    });
    await this.#answerOf(worker);
    this.workers.push(worker);
  }

  async kill(worker: ClusterWorker): Promise<void> {
    this.workers.splice(this.workers.indexOf(worker), 1);
    const exit = once(worker.child, 'exit');
    worker.child.kill('SIGKILL');
    this.#deaths.set(worker.pid, process.hrtime.bigint());
    await exit;
  }

  /** What each has counted. After `stop` they have finished what they did. */
  async ask(command: ClusterWorkerCommand): Promise<WorkerReport[]> {
    return Promise.all(
      this.workers.map((worker) => {
        const answer = this.#answerOf<WorkerReport>(worker);
        worker.child.send(command);
        return answer;
      }),
    );
  }

  check(): HistoryReport {
    const files = readdirSync(this.#folder).map((file) => readFileSync(join(this.#folder, file), 'utf8'));
    const lines = files.flatMap((text) => text.split('\n').filter((line) => line.endsWith('}')));
    const events = lines.map((line): HistoryEvent => {
      const { token, at, validUntil, ...event } = JSON.parse(line) as Line;
      const common = { ...event, token: BigInt(token), at: BigInt(at) };
      // Renewal has moved the first one on since: only what was known at the end counts.
      return event.type === 'acquired'
        ? { ...common, validUntil: undefined }
        : { ...common, validUntil: BigInt(validUntil) };
    });
    return checkHistory([...events, ...this.#lastWords(events)]);
  }

  end(): void {
    for (const { child } of this.workers.splice(0)) child.kill('SIGKILL');
    rmSync(this.#folder, { recursive: true, force: true });
  }

  async #answerOf<T>({ child, pid }: ClusterWorker): Promise<T> {
    const over = new AbortController();
    const { signal } = over;
    try {
      const ended = once(child, 'exit', { signal }).then(() => Promise.reject(new Error(`worker ${pid} ended`)));
      const [answer] = (await Promise.race([once(child, 'message', { signal }), ended])) as [T];
      return answer;
    } finally {
      over.abort();
    }
  }

  /** A killed worker cannot write that its holds have ended. */
  #lastWords(events: readonly HistoryEvent[]): HistoryEvent[] {
    const name = ({ process, key, token }: HistoryEvent): string => `${process} ${key} ${token}`;
    const ended = new Set(events.filter(({ type }) => type !== 'acquired').map(name));
    return events.flatMap((event) => {
      const death = this.#deaths.get(Number(event.process.split(':')[0]));
      if (death === undefined || ended.has(name(event))) return [];
      return [{ ...event, type: 'lost', at: death, validUntil: undefined }];
    });
  }
}
