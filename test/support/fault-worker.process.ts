import type { HammerOptions, WorkerConfig, WorkerReport } from './fault-worker.config.js';
import { WorkerProcess } from './worker-process.js';

/** A worker of a fault test, seen from the test that started it. */
export class FaultWorker extends WorkerProcess {
  static async start(config: WorkerConfig): Promise<FaultWorker> {
    const worker = new FaultWorker(this.spawn('fault-worker.ts', config));
    await worker.ready();
    return worker;
  }

  hammer(options: HammerOptions): Promise<void> {
    return this.call('hammer', options);
  }

  reset(): Promise<void> {
    return this.call('reset');
  }

  report(): Promise<WorkerReport> {
    return this.call('report');
  }

  acquire(key: string, ttl: number): Promise<void> {
    return this.call('acquire', key, ttl);
  }

  spinUntilStopped(gap: number): Promise<{ heldAfter: boolean; released: boolean }> {
    return this.call('spinUntilStopped', gap);
  }
}
