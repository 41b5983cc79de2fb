import { setTimeout as sleep } from 'node:timers/promises';
import type { FaultRun } from './fault-run.js';
import type { HammerOptions } from './fault-worker.config.js';
import { SeededRandom } from './seeded-random.js';

/** Something that goes wrong for a while. Resolves when it is over. */
export type Fault = (chaos: Chaos) => Promise<void>;

/** Causes faults, one after the other, in an order that a seed decides. */
export class Chaos {
  readonly random: SeededRandom;
  readonly caused: string[] = [];

  constructor(
    readonly run: FaultRun,
    readonly options: HammerOptions,
    seed: number,
  ) {
    this.random = new SeededRandom(seed);
  }

  /** ms; part of a lease. */
  part(least: number, most: number): number {
    return this.options.ttl * this.random.between(least, most);
  }

  async rage(faults: Readonly<Record<string, Fault>>, duration: number): Promise<void> {
    const end = performance.now() + duration;
    while (performance.now() < end) {
      await sleep(this.random.between(50, 400));
      const name = this.random.pick(Object.keys(faults));
      this.caused.push(name);
      await faults[name]!(this);
    }
  }
}

/** Faults of processes and of their store side by side, each in an order of its own. */
export async function rageOnBothSides(
  chaos: Chaos,
  seed: number,
  storeFaults: Readonly<Record<string, Fault>>,
  duration: number,
): Promise<void> {
  const ofStore = new Chaos(chaos.run, chaos.options, seed + 1);
  await Promise.all([chaos.rage(processFaults, duration), ofStore.rage(storeFaults, duration)]);
  chaos.caused.push(...ofStore.caused);
}

/** What can happen to a process. */
export const processFaults: Record<string, Fault> = {
  'a worker is killed': async ({ run, random, options }) => {
    await run.kill(random.pick(run.workers));
    await run.start(1, options);
  },
  'a worker is stopped for less than its lease': async (chaos) => {
    await stopFor(chaos, chaos.part(0.2, 0.6));
  },
  'a worker is stopped for longer than its lease': async (chaos) => {
    await stopFor(chaos, chaos.part(1.2, 3));
  },
  'a worker is stopped, and killed after its lease': async (chaos) => {
    const { run, random, options } = chaos;
    const worker = random.pick(run.workers);
    worker.pause();
    const stopped = process.hrtime.bigint();
    await sleep(chaos.part(1.2, 2));
    await run.kill(worker, stopped);
    await run.start(1, options);
  },
};

async function stopFor({ run, random }: Chaos, duration: number): Promise<void> {
  const worker = random.pick(run.workers);
  worker.pause();
  await sleep(duration);
  worker.resume();
}
