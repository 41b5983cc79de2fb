import { print as printUncontended } from './redis.mjs';
import { uncontended } from './support/uncontended.mjs';

export const title = 'Redlock, three nodes: taking a free key and giving it back';
export const oneCaller = true;

export function run(context) {
  return uncontended(['bare quorum', 'ours (redlock)', 'redlock, three nodes'], context, { rounds: 15, calls: 500 });
}

export const print = printUncontended;
