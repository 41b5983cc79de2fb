import { print as printUncontended } from './redis.mjs';
import { uncontended } from './support/uncontended.mjs';

export const title = 'MariaDB: taking a free key and giving it back';
export const oneCaller = true;

/** The first of each is what the others are compared with. */
const groups = [
  ['bare upsert and delete (mysql)', 'ours (mysql table)'],
  ['bare named pair (mysql)', 'ours (mysql named)'],
  ['bare upsert and delete (mysql)', 'ours (mysql row)'],
];

export async function run(context) {
  const results = [];
  for (const names of groups) results.push(await uncontended(names, context, { rounds: 25, calls: 500 }));
  return { results };
}

export const print = ({ results }) => results.map(printUncontended).join('\n\n');
