import { print as printUncontended } from './redis.mjs';
import { uncontended } from './support/uncontended.mjs';

export const title = 'ZooKeeper: taking a free key and giving it back';
export const oneCaller = true;

export function run(context) {
  const names = ['bare create, read and delete (zookeeper)', 'ours (zookeeper)'];
  return uncontended(names, context, { rounds: 15, calls: 300 });
}

export const print = printUncontended;
