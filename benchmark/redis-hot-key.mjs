import { hotKey } from './support/hot-key.mjs';
import { printHotKey } from './support/hot-key.table.mjs';

export const title = 'Redis: one hot key, 4 processes × 10 waiters, held for 2 ms';

const load = { processes: 4, waiters: 10, hold: 2, seconds: 6 };

export async function run(context) {
  const results = {};
  for (const name of ['ours', 'redis-semaphore', 'redlock']) results[name] = await hotKey(name, context, load);
  return { load, results, problems: overlaps(results.ours) };
}

export const print = ({ results }) => printHotKey(results);

function overlaps({ overlaps }) {
  return overlaps === 0 ? [] : [`${overlaps} holds of ours overlapped on Redis`];
}
