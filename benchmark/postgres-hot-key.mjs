import { hotKey } from './support/hot-key.mjs';
import { printHotKey } from './support/hot-key.table.mjs';

export const title = 'Postgres: one hot key in the lock table, 4 processes × 50 waiters, held for 2 ms';

const load = { processes: 4, waiters: 50, hold: 2, seconds: 6 };

export async function run(context) {
  const name = 'ours (postgres table)';
  const ours = await hotKey(name, context, load);
  const problems = ours.overlaps === 0 ? [] : [`${ours.overlaps} holds of ours overlapped on Postgres`];
  return { load, results: { [name]: ours }, problems };
}

export const print = ({ results }) => printHotKey(results);
