import { Module } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { Redis } from 'ioredis';
import { LockModule, LockService } from 'nestjs-distributed-lock';
import { redisStore } from 'nestjs-distributed-lock/redis';
import 'reflect-metadata';
import { quantile, sum } from '../scripts/support/statistics.mjs';
import { table } from '../scripts/support/table.mjs';
import { ms } from './support/format.mjs';
import { startRedisSentinel } from './support/redis-sentinel.mjs';

export const title = 'Redis behind Sentinel: locks that a failover forgets';

const CALLERS = 10;
/** ms. Nothing runs out before it is counted. */
const TTL = 600_000;
const LAG = 5;
const waitReplicas = { count: 1, timeout: '100ms' };

/** `calls`: the master dies at the very moment at which the last of so many is answered. */
const cases = {
  'replicas keep up': { lag: 0, calls: 200 },
  [`replicas are ${LAG} ms behind`]: { lag: LAG, calls: 200 },
  [`replicas are ${LAG} ms behind, waitReplicas: 1`]: { lag: LAG, calls: 200, waitReplicas },
  'replicas hear nothing, waitReplicas: 1': { lag: null, calls: 20, waitReplicas },
};

export async function run({ failovers = 10 }) {
  const set = await startRedisSentinel();
  const results = {};
  try {
    for (const [name, situation] of Object.entries(cases)) {
      const rounds = [];
      for (let round = 0; round < failovers; round += 1) rounds.push(await failOver(set, situation));
      results[name] = summarize(rounds);
    }
  } finally {
    await set.stop();
  }
  return { failovers, results };
}

/** Two processes, as far as Redis can tell. What the first was granted when the master died, the second then tries to get. */
async function failOver(set, { lag, calls, waitReplicas = false }) {
  await set.call('heal');
  const [first, second] = [await processOf(set, waitReplicas), await processOf(set, waitReplicas)];
  try {
    const master = await set.call('master');
    await set.call('lag', lag);
    const { held, refused } = await load(first.locks, calls, () => process.kill(master, 'SIGKILL'));
    const died = performance.now();
    const replaced = set.call('replaced');
    const back = await second.locks.acquire('back', { ttl: TTL, wait: 60_000 });
    const outage = performance.now() - died;
    await back.release();
    await replaced;
    let lost = 0;
    for (const lock of held) {
      const other = await second.locks.tryAcquire(lock.key, { ttl: TTL, renew: false });
      if (other !== null && lock.held && other.held) lost += 1;
      await other?.release();
    }
    await Promise.all(held.map((lock) => lock.release()));
    return { held: held.length, refused, lost, outage };
  } finally {
    await Promise.all([first.close(), second.close()]);
  }
}

async function processOf({ sentinels, name }, waitReplicas) {
  const client = new Redis({ sentinels, name, disconnectTimeout: 200 });
  client.on('error', () => undefined);
  class App {}
  Module({ imports: [LockModule.forRoot({ store: redisStore({ client, prefix: 'failover', waitReplicas }) })] })(App);
  // Its warnings are what is counted here.
  const app = await NestFactory.createApplicationContext(App, { logger: false, abortOnError: false });
  return { locks: app.get(LockService), close: () => app.close().finally(() => client.disconnect()) };
}

/** Takes new keys as fast as it can until `kill` is due. */
function load(locks, calls, kill) {
  const held = [];
  let refused = 0;
  let sent = 0;
  let dead = false;
  return new Promise((resolve) => {
    const caller = async () => {
      while (!dead) {
        const key = `stock:${(sent += 1)}`;
        const lock = await locks.acquire(key, { ttl: TTL, renew: false, wait: 0 }).catch(() => undefined);
        if (lock) held.push(lock);
        // What was not answered when the master died was not refused.
        else if (!dead) refused += 1;
        if (dead || held.length + refused < calls) continue;
        dead = true;
        kill();
        resolve({ held, refused });
      }
    };
    for (let each = 0; each < CALLERS; each += 1) void caller();
  });
}

function summarize(rounds) {
  const total = (name) => sum(rounds.map((round) => round[name]));
  return {
    held: total('held'),
    lost: total('lost'),
    roundsWithLoss: rounds.filter(({ lost }) => lost > 0).length,
    refused: total('refused'),
    outageMs: quantile(
      rounds.map(({ outage }) => outage),
      0.5,
    ),
  };
}

export function print({ failovers, results }) {
  const rows = Object.entries(results).map(([name, { held, lost, roundsWithLoss, refused, outageMs }]) => [
    name,
    failovers,
    held,
    lost,
    roundsWithLoss,
    refused,
    ms(outageMs),
  ]);
  const head = ['', 'failovers', 'held at it', 'held twice', 'failovers with such', 'refused before', 'no locks for'];
  return `${table(head, rows)}

The master is killed at the moment at which an acquire is answered, while ${CALLERS} callers acquire. Held twice: another process gets the
lock after the failover while its first holder goes on holding it. No locks for: from the master's death to the next lock (median), with
sentinels that give a master up after 500 ms.`;
}
