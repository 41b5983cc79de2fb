import { hotKey } from './support/hot-key.mjs';
import { printHotKey } from './support/hot-key.table.mjs';

export const title = 'etcd: one hot key, 4 processes × 2 waiters, held for 2 ms';

// `etcdctl lock` is a process for each waiter.
const load = { processes: 4, waiters: 2, hold: 2, seconds: 6 };

export async function run(context) {
  const results = {};
  for (const name of ['ours (etcd)', 'etcdctl lock']) results[name] = await hotKey(name, context, load);
  const { overlaps } = results['ours (etcd)'];
  return { load, results, problems: overlaps === 0 ? [] : [`${overlaps} holds of ours overlapped on etcd`] };
}

export const print = ({ results }) => printHotKey(results);
