import { hotKey } from './support/hot-key.mjs';
import { printHotKey } from './support/hot-key.table.mjs';

export const title = 'ZooKeeper: one hot key, 4 processes × 10 waiters, held for 2 ms';

const load = { processes: 4, waiters: 10, hold: 2, seconds: 6 };

export async function run(context) {
  const name = 'ours (zookeeper)';
  const ours = await hotKey(name, context, load);
  const problems = ours.overlaps === 0 ? [] : [`${ours.overlaps} holds of ours overlapped on ZooKeeper`];
  return { load, results: { [name]: ours }, problems };
}

export const print = ({ results }) => printHotKey(results);
