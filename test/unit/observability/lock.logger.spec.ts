import { beforeEach, expect, it } from '@jest/globals';
import type { Logger } from '@nestjs/common';
import { LockEventHub } from '../../../lib/engine/lock.events.js';
import { logLockEvents } from '../../../lib/observability/lock.logger.js';

const about = { key: 'order:7', store: 'main', template: 'order:<id>' };
const outage = { ...about, waited: 5, cause: new Error('no route') };

let events: LockEventHub;
let lines: [level: string, line: string][];
let time: number;

beforeEach(() => {
  events = new LockEventHub();
  lines = [];
  time = 0;
  const levels = ['fatal', 'error', 'warn', 'log', 'debug', 'verbose'];
  const logger = Object.fromEntries(levels.map((level) => [level, (line: string) => lines.push([level, line])]));
  logLockEvents(events, logger as unknown as Logger, () => time);
});

it('says nothing of what goes well', () => {
  events.emit('acquired', { ...about, waited: 1, handedOff: false });
  events.emit('released', { ...about, held: 1 });
  expect(lines).toEqual([]);
});

it('tells contention to who debugs, and to nobody else', () => {
  events.emit('contended', { ...about, waited: 5000.4, holder: 'host:1' });
  events.emit('contended', { ...about, waited: 0, holder: undefined });
  expect(lines).toEqual([
    ['debug', '"order:7" was not locked within 5000 ms: host:1 holds it'],
    ['debug', '"order:7" was not locked within 0 ms: somebody else holds it'],
  ]);
});

it('tells each lost lock as an error, and outages as warnings', () => {
  const error = new Error('The lock on "order:7" is not held any more: gone');
  events.emit('lost', { ...about, held: 12.3, error, atRelease: false });
  const cause = new Error('its session ended');
  events.emit('lost', { ...about, held: 12.3, error: Object.assign(error, { cause }), atRelease: true });
  events.emit('unavailable', outage);
  events.emit('renewalFailed', { ...about, remaining: 900, cause: undefined });
  events.emit('releaseFailed', { ...about, cause: 'odd' });
  expect(lines).toEqual([
    ['error', 'The lock on "order:7" is not held any more: gone (after 12 ms)'],
    ['error', 'The lock on "order:7" is not held any more: gone: its session ended (after 12 ms)'],
    ['warn', '"order:7" was not locked: the store "main" is unavailable: no route'],
    ['warn', 'No answer from the store "main" to the renewal of "order:7"; its lock ends in 900 ms: no answer in time'],
    ['warn', `No answer from the store "main" to the release of "order:7", which is tried again: 'odd'`],
  ]);
});

it('writes one line in ten seconds of each kind of outage and store, and counts the others', () => {
  for (let call = 0; call < 1000; call += 1) events.emit('unavailable', outage);
  events.emit('unavailable', { ...outage, store: 'jobs' });
  time = 9_999;
  events.emit('unavailable', outage);
  expect(lines).toHaveLength(2);
  time = 10_000;
  events.emit('unavailable', outage);
  events.emit('unavailable', outage);
  expect(lines).toHaveLength(3);
  expect(lines[2]?.[1]).toMatch(/no route \(1000 more of this kind since the last such line\)$/);
});

it('tells a listener that fails, whatever comes of it, and a telemetry that does', async () => {
  events.on('released', () => {
    throw new Error('full');
  });
  events.on('acquired', (async () => Promise.reject(new Error('late'))) as () => void);
  events.emit('released', { ...about, held: 1 });
  events.emit('acquired', { ...about, waited: 1, handedOff: false });
  events.onError?.(new Error('broken'), 'tracer');
  await new Promise(setImmediate);
  expect(lines.sort()).toEqual([
    ['error', 'A listener of the lock event "acquired" failed: late'],
    ['error', 'A listener of the lock event "released" failed: full'],
    ['error', 'The telemetry of locks failed: broken'],
  ]);
});
