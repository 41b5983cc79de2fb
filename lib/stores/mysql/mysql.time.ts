// One moment for the whole of a statement, and without a time zone's doubled hour. A statement that had to wait for a row
// goes by the time at which it began: it takes nothing over too early, and no lease of its ends later for it.
export const NOW = 'UTC_TIMESTAMP(6)';

const MICROSECONDS = (from: string, to: string): string => `TIMESTAMPDIFF(MICROSECOND, ${from}, ${to})`;
/** Whole milliseconds between two moments. A division would come as text. */
export const milliseconds = (from: string, to: string): string => `${MICROSECONDS(from, to)} DIV 1000`;
/** µs since 1970. */
export const CLOCK = MICROSECONDS(`TIMESTAMP'1970-01-01 00:00:00'`, NOW);
