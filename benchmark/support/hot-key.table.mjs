import { table } from '../../scripts/support/table.mjs';
import { index, ms, times } from './format.mjs';

export function printHotKey(results) {
  const columns = {
    'beyond the hold': ({ overheadMs }) => ms(overheadMs),
    'holds/s': ({ holdsPerSecond }) => holdsPerSecond.toFixed(0),
    'wait p50': ({ waitMs }) => ms(waitMs.p50),
    'wait p99': ({ waitMs }) => ms(waitMs.p99),
    longest: ({ waitMs }) => ms(waitMs.longest),
    'longest/mean': ({ longestToMean }) => times(longestToMean),
    'J processes': ({ jain }) => index(jain.processes),
    'J waiters': ({ jain }) => index(jain.waiters),
    'J waits': ({ jain }) => index(jain.waits),
    overlaps: ({ overlaps }) => overlaps,
  };
  const rows = Object.entries(results).map(([name, result]) => [
    name,
    ...Object.values(columns).map((cell) => cell(result)),
  ]);
  return `${table(['', ...Object.keys(columns)], rows)}

J: Jain's index, 1 when all are equal, of the holds that each process and each waiter got, and of the single waits.`;
}
