import type { CronReport, CronWorkerConfig } from './cron-worker.config.js';
import { WorkerProcess } from './worker-process.js';

/** A process with the job, seen from the test that started it. */
export class CronWorker extends WorkerProcess {
  static async start(config: CronWorkerConfig): Promise<CronWorker> {
    const worker = new CronWorker(this.spawn('cron-worker.ts', config));
    await worker.ready();
    return worker;
  }

  report(): Promise<CronReport> {
    return this.call('report');
  }
}
