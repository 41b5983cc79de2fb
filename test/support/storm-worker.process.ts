import type { StormReport, StormWorkerConfig } from './storm-worker.config.js';
import { WorkerProcess } from './worker-process.js';

/** An instance that is asked over HTTP, seen from the test that started it. */
export class StormWorker extends WorkerProcess {
  port = 0;

  static async start(config: StormWorkerConfig): Promise<StormWorker> {
    const worker = new StormWorker(this.spawn('storm-worker.ts', config, ['--expose-gc']));
    worker.port = await worker.ready<number>();
    return worker;
  }

  report(): Promise<StormReport> {
    return this.call('report');
  }
}
