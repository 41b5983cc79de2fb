import { hotKey } from './support/hot-key.mjs';
import { printHotKey } from './support/hot-key.table.mjs';

export const title = 'SQLite: one hot key, 3 processes × 10 waiters, held for 2 ms';

const load = { processes: 3, waiters: 10, hold: 2, seconds: 6 };

export async function run(context) {
  const ours = await hotKey('ours (sqlite)', context, load);
  const problems = ours.overlaps === 0 ? [] : [`${ours.overlaps} holds of ours overlapped on SQLite`];
  return { load, results: { 'ours (sqlite)': ours }, problems };
}

export const print = ({ results }) => printHotKey(results);
