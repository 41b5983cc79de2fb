import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { checkHistory, type HistoryEvent, type HistoryReport } from '../../lib/testing/index.js';
import type { HammerOptions, StoreLocation, WorkerReport } from './fault-worker.config.js';
import { FaultWorker } from './fault-worker.process.js';

type Line = Omit<HistoryEvent, 'token' | 'at' | 'validUntil'> & { token: string; at: string; validUntil: string };

/** Several workers on one store, and what they have written down. */
export class FaultRun {
  readonly workers: FaultWorker[] = [];
  readonly #folder = mkdtempSync(join(tmpdir(), 'fault-history-'));
  readonly #deaths = new Map<number, bigint>();
  #started = 0;

  constructor(private readonly store: StoreLocation) {}

  /** @param store where it is reached in another way than by the first ones */
  async start(count = 1, options?: HammerOptions, store = this.store): Promise<FaultWorker[]> {
    const started = await Promise.all(
      Array.from({ length: count }, () => {
        const history = join(this.#folder, String((this.#started += 1)));
        return FaultWorker.start({ store, history });
      }),
    );
    this.workers.push(...started);
    if (options) await Promise.all(started.map((worker) => worker.hammer(options)));
    return started;
  }

  /** @param diedAt when it stopped working, if that was earlier */
  async kill(worker: FaultWorker, diedAt?: bigint): Promise<void> {
    const at = await worker.kill();
    this.#deaths.set(worker.pid, diedAt ?? at);
    this.workers.splice(this.workers.indexOf(worker), 1);
  }

  /** Lets all finish what they do. */
  async stop(): Promise<WorkerReport[]> {
    const reports = await Promise.all(this.workers.map((worker) => worker.report()));
    await Promise.all(this.workers.map((worker) => worker.stop()));
    return reports;
  }

  failures(): Error[] {
    return this.workers.flatMap(({ failure }) => (failure ? [failure] : []));
  }

  events(): HistoryEvent[] {
    if (!existsSync(this.#folder)) return [];
    const files = readdirSync(this.#folder).map((file) => readFileSync(join(this.#folder, file), 'utf8'));
    const lines = files.flatMap((text) => text.split('\n').filter((line) => line.endsWith('}')));
    const events = lines.map((line): HistoryEvent => {
      const { token, at, validUntil, ...event } = JSON.parse(line) as Line;
      return { ...event, token: BigInt(token), at: BigInt(at), validUntil: BigInt(validUntil) };
    });
    return [...events.map(open), ...this.#lastWords(events)];
  }

  check(): HistoryReport {
    return checkHistory(this.events());
  }

  async end(): Promise<void> {
    await Promise.all(this.workers.splice(0).map((worker) => worker.kill()));
    rmSync(this.#folder, { recursive: true, force: true });
  }

  /** A killed worker cannot write that its holds have ended. */
  #lastWords(events: readonly HistoryEvent[]): HistoryEvent[] {
    const ended = new Set(events.filter(({ type }) => type !== 'acquired').map(idOf));
    return events.flatMap((event) => {
      const death = this.#deaths.get(Number(event.process.split(':')[0]));
      if (death === undefined || event.type !== 'acquired' || ended.has(idOf(event))) return [];
      return [{ ...event, type: 'lost', at: death, validUntil: undefined }];
    });
  }
}

// Renewal has moved it on since: only what was known at the end counts.
function open(event: HistoryEvent): HistoryEvent {
  return event.type === 'acquired' ? { ...event, validUntil: undefined } : event;
}

function idOf({ process, key, token }: HistoryEvent): string {
  return `${process} ${key} ${token}`;
}
