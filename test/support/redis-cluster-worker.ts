// One process of a fault test over a cluster: takes and gives back locks until it is told to stop, and writes down what happens.
import { openSync, writeSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Hold } from '../../lib/engine/hold.js';
import { isLockError } from '../../lib/errors/index.js';
import { redisStore } from '../../lib/stores/redis/index.js';
import type { HistoryEvent } from '../../lib/testing/index.js';
import type { HammerOptions, WorkerReport } from './fault-worker.config.js';
import { clusterClients, type ClusterFamily } from './redis-cluster-clients.js';
import type { Address } from './redis-cluster.js';
import { TestEngine } from './test-engine.js';

export interface ClusterWorkerConfig {
  readonly nodes: readonly Address[];
  readonly family: ClusterFamily;
  readonly prefix: string;
  /** The file that it appends what happens to. */
  readonly history: string;
  readonly hammer: HammerOptions;
}

export type ClusterWorkerCommand = 'report' | 'reset' | 'stop';

const { nodes, family, prefix, history, hammer } = JSON.parse(process.argv[2]!) as ClusterWorkerConfig;
const { client, close } = await clusterClients[family]({ nodes });
const engine = new TestEngine(redisStore({ client, prefix }));
const file = openSync(history, 'a');
// What performance.now() has to be given to become process.hrtime(): both run on the host's monotonic clock.
const origin = Number(process.hrtime.bigint()) - performance.now() * 1e6;
const nothing = { holds: 0, lost: 0, contended: 0, unavailable: 0 };
let report: WorkerReport = { ...nothing, waits: [] };
let hammering = true;

function count(field: keyof typeof nothing): void {
  report = { ...report, [field]: report[field] + 1 };
}

function write(type: HistoryEvent['type'], caller: string, hold: Hold, certainUntil: number): void {
  const event = {
    process: caller,
    key: hold.key,
    token: String(hold.fencingToken),
    type,
    at: String(process.hrtime.bigint()),
    validUntil: String(Math.round(certainUntil * 1e6 + origin)),
  };
  writeSync(file, `${JSON.stringify(event)}\n`);
}

async function work(hold: Hold, caller: string): Promise<void> {
  const { ttl, longHolds = 0 } = hammer;
  const [shortest, longest] = hammer.hold;
  count('holds');
  let certainUntil = performance.now() + hold.remaining();
  write('acquired', caller, hold, certainUntil);
  const duration = Math.random() < longHolds ? 1.5 * ttl : shortest + Math.random() * (longest - shortest);
  const end = performance.now() + duration;
  // Believes what the lock says, and nothing else.
  while (hold.held && performance.now() < end) {
    certainUntil = performance.now() + hold.remaining();
    await sleep(Math.min(5, Math.max(1, end - performance.now())));
  }
  if (hold.held) certainUntil = performance.now() + hold.remaining();
  else count('lost');
  write(hold.held ? 'released' : 'lost', caller, hold, certainUntil);
  await hold.release();
}

async function call(caller: string): Promise<void> {
  const { keys, ttl, wait, pause } = hammer;
  while (hammering) {
    const key = keys[Math.floor(Math.random() * keys.length)]!;
    try {
      await work(await engine.acquire(key, { ttl, wait }), caller);
    } catch (error) {
      if (isLockError(error, 'LOCK_CONTENDED')) count('contended');
      else if (isLockError(error, 'LOCK_UNAVAILABLE')) count('unavailable');
      else throw error;
    }
    await sleep(Math.random() * pause);
  }
}

const callers = Array.from({ length: hammer.callers }, (_, index) => call(`${process.pid}:${index}`));

async function obey(command: ClusterWorkerCommand): Promise<void> {
  const answer = report;
  if (command === 'reset') report = { ...nothing, waits: [] };
  if (command === 'stop') {
    hammering = false;
    await Promise.all(callers);
    await engine.close();
    close();
  }
  process.send?.(answer);
}

process.on('message', (command: ClusterWorkerCommand) => void obey(command));
process.on('disconnect', () => process.exit(0));
process.send?.('ready');
