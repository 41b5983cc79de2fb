import type { FenceViolation, HistoryEvent, HistoryReport, Overlap, RecordedHold } from './history.js';

/** Collects events and checks them at the end. */
export interface HistoryChecker {
  record(event: HistoryEvent): void;
  /** @see checkHistory */
  check(): HistoryReport;
}

/**
 * A checker for holds of one process; for several, let each write its events to a file and give them all to
 * {@link checkHistory}.
 */
export function createHistoryChecker(): HistoryChecker {
  const events: HistoryEvent[] = [];
  return { record: (event) => void events.push(event), check: () => checkHistory(events) };
}

/**
 * Looks for two things that must never happen: two holders of one key at the same time, and a fencing token that is not
 * larger than that of every earlier hold of its key.
 *
 * A hold lasts from `acquired` to its `released` or `lost`, or to the `validUntil` that stands there if that is earlier.
 * One that had run out before its holder could begin never was one. Where no end was recorded, the `validUntil` of
 * `acquired` counts, and without that the hold lasts for ever: whoever ends a process that renews its locks has to record
 * a `lost` event for each.
 *
 * @param events in any order
 */
export function checkHistory(events: Iterable<HistoryEvent>): HistoryReport {
  const holds = [...holdsOf(events)].sort((a, b) => compare(a.from, b.from));
  const overlaps: Overlap[] = [];
  const fenceViolations: FenceViolation[] = [];
  const last = new Map<string, { longest: RecordedHold; highest: RecordedHold }>();
  for (const hold of holds) {
    const before = last.get(hold.key);
    if (before === undefined) {
      last.set(hold.key, { longest: hold, highest: hold });
      continue;
    }
    const { longest, highest } = before;
    if (longest.to === undefined || longest.to > hold.from) overlaps.push(overlapOf(longest, hold));
    if (highest.token >= hold.token) fenceViolations.push({ key: hold.key, earlier: highest, later: hold });
    else before.highest = hold;
    if (endsLater(hold, longest)) before.longest = hold;
  }
  return { ok: overlaps.length === 0 && fenceViolations.length === 0, holds, overlaps, fenceViolations };
}

function* holdsOf(events: Iterable<HistoryEvent>): Generator<RecordedHold> {
  const byHold = new Map<string, HistoryEvent[]>();
  for (const event of events) {
    const id = JSON.stringify([event.process, event.key, String(event.token)]);
    const known = byHold.get(id);
    if (known === undefined) byHold.set(id, [event]);
    else known.push(event);
  }
  for (const group of byHold.values()) yield* pair(group.sort(inOrder));
}

/** The holds of one process, key and token: more than one only when a token was given out twice. */
function* pair(events: readonly HistoryEvent[]): Generator<RecordedHold> {
  for (const [index, event] of events.entries()) {
    if (event.type !== 'acquired') continue;
    const next = events[index + 1];
    const end = next?.type === 'acquired' ? undefined : next;
    const to = end === undefined ? event.validUntil : earliest(end.at, end.validUntil);
    if (to !== undefined && to <= event.at) continue;
    yield { process: event.process, key: event.key, token: event.token, from: event.at, to };
  }
}

// An end may carry the same time as its beginning.
function inOrder(a: HistoryEvent, b: HistoryEvent): number {
  return compare(a.at, b.at) || Number(b.type === 'acquired') - Number(a.type === 'acquired');
}

function overlapOf(first: RecordedHold, second: RecordedHold): Overlap {
  const end = earliest(first.to, second.to);
  return { key: first.key, first, second, duration: end === undefined ? undefined : end - second.from };
}

function endsLater(a: RecordedHold, b: RecordedHold): boolean {
  return b.to !== undefined && (a.to === undefined || a.to > b.to);
}

function earliest(a: bigint | undefined, b: bigint | undefined): bigint | undefined {
  if (a === undefined || b === undefined) return a ?? b;
  return a < b ? a : b;
}

function compare(a: bigint, b: bigint): number {
  return a < b ? -1 : Number(a > b);
}
