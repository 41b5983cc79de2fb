import { execFileSync } from 'node:child_process';
import { availableParallelism } from 'node:os';

/**
 * Processors of their own for the servers and for the one process that calls them. Where the scheduler puts both on one processor a
 * call takes half as long as on two, and which of the two it will be differs from one connection to the next: without this, one
 * contestant's luck is another's ratio. `undefined` where there is only one processor, or no `taskset` (Linux has it).
 */
export function placement() {
  if (availableParallelism() < 2) return undefined;
  try {
    const all = ofProcess(process.pid);
    return { all, servers: withoutLast(all), client: lastOf(all) };
  } catch {
    return undefined;
  }
}

/** Lets a process, with all of its threads, run on `processors` only. What it starts from then on does so too. */
export function place(pid, processors) {
  execFileSync('taskset', ['-apc', processors, String(pid)], { stdio: 'ignore' });
}

function ofProcess(pid) {
  const answer = execFileSync('taskset', ['-pc', String(pid)], {
    encoding: 'utf8',
    stdio: ['ignore', 'pipe', 'ignore'],
  });
  return answer.trim().split(' ').at(-1);
}

/** `0-3,6` is five numbers. */
function numbers(list) {
  return list.split(',').flatMap((range) => {
    const [first, last = first] = range.split('-').map(Number);
    return Array.from({ length: last - first + 1 }, (_, index) => first + index);
  });
}

const lastOf = (list) => String(numbers(list).at(-1));
const withoutLast = (list) => numbers(list).slice(0, -1).join(',');
