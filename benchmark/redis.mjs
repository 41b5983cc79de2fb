import { table } from '../scripts/support/table.mjs';
import { times, us } from './support/format.mjs';
import { uncontended } from './support/uncontended.mjs';

export const title = 'Redis: taking a free key and giving it back';
export const oneCaller = true;

export function run(context) {
  return uncontended(['bare pair', 'ours', 'redis-semaphore', 'redlock'], context, { rounds: 15, calls: 1000 });
}

export function print({ microseconds, ratio, base }) {
  const rows = Object.keys(microseconds).map((name) => [name, us(microseconds[name]), times(ratio[name])]);
  return table(['', 'takes', `to the ${base}`], rows);
}
