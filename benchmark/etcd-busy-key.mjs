import { Etcd3 } from 'etcd3';
import { etcdStore } from 'nestjs-distributed-lock/etcd';
import { table } from '../scripts/support/table.mjs';
import { locksApp } from './support/locks-app.mjs';
import { inRounds, medians, ratiosTo } from './support/rounds.mjs';

export const title = 'etcd: a key that was locked many times since the last compaction';
export const oneCaller = true;

const BEFORE = 30_000;
const AT_ONCE = 100;
const BUSY = 'a busy key';
const FRESH = 'keys that were locked once';
const NAMES = 'a queue with a name for each entry';

export async function run({ etcdUrl }) {
  const { locks, close } = await locksApp(etcdStore({ hosts: etcdUrl, prefix: 'busy' }));
  const client = new Etcd3({ hosts: etcdUrl });
  const take = (key) => locks.withLock(key, async () => undefined);
  let fresh = 0;
  const cases = {
    [FRESH]: (calls) => times(calls, () => take(`fresh:${(fresh += 1)}`)),
    [BUSY]: (calls) => times(calls, () => take('busy')),
    [NAMES]: (calls) => times(calls, () => enterAndLeave(client)),
  };
  await times(BEFORE, () => take('busy'));
  await leaveNames(client, BEFORE);
  const taken = await inRounds(cases, { rounds: 9, calls: 100 });
  client.close();
  await close();
  const ratio = ratiosTo(FRESH, taken);
  const problems = ratio[BUSY] > 2 ? [`a busy key takes ${ratio[BUSY].toFixed(1)} times as long as others`] : [];
  return { before: BEFORE, microseconds: medians(taken), ratio, problems };
}

export function print({ before, microseconds, ratio }) {
  const rows = Object.entries(microseconds).map(([name, µs]) => [
    name,
    `${µs.toFixed(0)} µs`,
    `${ratio[name].toFixed(2)} ×`,
  ]);
  return table(['', `takes, ${before} locks later`, 'to other keys'], rows);
}

async function times(count, work) {
  for (let done = 0; done < count; done += 1) await work();
}

const QUEUE = { start: Buffer.from('names/'), end: Buffer.from('names0') };
let number = 0;
const nextName = () => Buffer.from(`names/${(number += 1)}`);

/** What a lock does that gives each of its entries a name of its own. */
async function enterAndLeave(client) {
  const key = nextName();
  const { succeeded } = await client.kv.txn({
    compare: [{ key: QUEUE.start, range_end: QUEUE.end, target: 'Create', result: 'Equal', create_revision: '0' }],
    success: [{ request_put: { key, value: Buffer.from('') } }],
    failure: [],
  });
  if (!succeeded) throw new Error('the queue is not empty');
  await client.kv.deleteRange({ key });
}

/** As many of them as locks were taken before, faster. */
async function leaveNames(client, count) {
  for (let made = 0; made < count; made += AT_ONCE) {
    const names = Array.from({ length: AT_ONCE }, nextName);
    const puts = names.map((key) => ({ request_put: { key, value: Buffer.from('') } }));
    await client.kv.txn({ compare: [], success: puts, failure: [] });
    await client.kv.deleteRange({ key: QUEUE.start, range_end: QUEUE.end });
  }
}
