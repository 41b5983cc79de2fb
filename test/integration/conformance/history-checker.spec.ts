import { describe, expect, test } from '@jest/globals';
import { checkHistory, createHistoryChecker, type HistoryEvent } from '../../../lib/testing/index.js';

type Kind = HistoryEvent['type'];

function event(process: string, token: number, type: Kind, at: number, validUntil?: number, key = 'key'): HistoryEvent {
  const until = validUntil === undefined ? {} : { validUntil: BigInt(validUntil) };
  return { process, key, token: BigInt(token), type, at: BigInt(at), ...until };
}

describe('the history checker', () => {
  test('finds nothing wrong with holds that follow one another', () => {
    const report = checkHistory([
      event('b', 2, 'acquired', 20),
      event('a', 1, 'acquired', 0),
      event('a', 1, 'released', 20),
      event('b', 2, 'lost', 30),
      event('a', 3, 'acquired', 30),
      event('a', 3, 'released', 31),
    ]);
    expect(report).toMatchObject({ ok: true, overlaps: [], fenceViolations: [] });
    expect(report.holds.map(({ token }) => token)).toEqual([1n, 2n, 3n]);
  });

  test('finds two holders of one key, and for how long', () => {
    const report = checkHistory([
      event('a', 1, 'acquired', 0),
      event('b', 2, 'acquired', 10),
      event('a', 1, 'released', 15),
      event('b', 2, 'released', 20),
    ]);
    expect(report.ok).toBe(false);
    expect(report.overlaps).toMatchObject([
      { key: 'key', first: { process: 'a' }, second: { process: 'b' }, duration: 5n },
    ]);
  });

  test('finds an overlap with a hold that began long before the last one', () => {
    const report = checkHistory([
      event('a', 1, 'acquired', 0),
      event('a', 1, 'released', 100),
      event('b', 2, 'acquired', 10),
      event('b', 2, 'released', 11),
      event('c', 3, 'acquired', 50),
      event('c', 3, 'released', 51),
    ]);
    expect(report.overlaps.map(({ second }) => second.process)).toEqual(['b', 'c']);
  });

  test('keeps keys apart', () => {
    const report = checkHistory([event('a', 1, 'acquired', 0), event('b', 1, 'acquired', 5, undefined, 'other')]);
    expect(report.ok).toBe(true);
  });

  test('finds a token that is equal to, or smaller than, an earlier one', () => {
    const holds = [5, 7, 6, 7, 8].flatMap((token, index) => [
      event(`p${index}`, token, 'acquired', index * 10),
      event(`p${index}`, token, 'released', index * 10 + 5),
    ]);
    const report = checkHistory(holds);
    expect(report.overlaps).toEqual([]);
    expect(report.fenceViolations.map(({ later }) => later.process)).toEqual(['p2', 'p3']);
  });

  test('finds a token that one process was given twice', () => {
    const report = checkHistory([
      event('a', 1, 'acquired', 0),
      event('a', 1, 'released', 5),
      event('a', 1, 'acquired', 10),
      event('a', 1, 'released', 15),
    ]);
    expect(report.fenceViolations).toHaveLength(1);
  });

  test('counts a hold as ended when its lease was over, however late its holder wrote that down', () => {
    const stopped = [event('a', 1, 'acquired', 0), event('a', 1, 'lost', 90, 30)];
    expect(checkHistory([...stopped, event('b', 2, 'acquired', 31)]).ok).toBe(true);
    expect(checkHistory([...stopped, event('b', 2, 'acquired', 29)]).overlaps).toHaveLength(1);
  });

  test('does not count a hold that was over before its holder could begin', () => {
    const report = checkHistory([
      event('b', 2, 'acquired', 40),
      event('b', 2, 'released', 60),
      event('a', 1, 'acquired', 50, 30),
      event('a', 1, 'lost', 51, 30),
    ]);
    expect(report.ok).toBe(true);
    expect(report.holds).toHaveLength(1);
  });

  test('takes a hold of which no end is known for one that lasts', () => {
    const report = checkHistory([event('a', 1, 'acquired', 0), event('b', 2, 'acquired', 1_000)]);
    expect(report.overlaps).toMatchObject([{ duration: undefined }]);
  });

  test('collects what happens in one process', () => {
    const checker = createHistoryChecker();
    checker.record(event('a', 1, 'acquired', 0));
    expect(checker.check().ok).toBe(true);
    checker.record(event('b', 1, 'acquired', 1));
    expect(checker.check()).toMatchObject({ ok: false, overlaps: [{}], fenceViolations: [{}] });
  });
});
