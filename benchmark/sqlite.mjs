import { print as printUncontended } from './redis.mjs';
import { uncontended } from './support/uncontended.mjs';

export const title = 'SQLite: taking a free key and giving it back';

export function run(context) {
  return uncontended(['bare rows', 'ours (sqlite)'], context, { rounds: 15, calls: 1000 });
}

export const print = printUncontended;
