import { Logger } from '@nestjs/common';
import { inspect } from 'node:util';
import type { LockEventHub } from '../engine/lock.events.js';
import { seldom } from './seldom.js';

/** An outage meets every call and every renewal; one line of each kind in this many ms says as much as a thousand. */
const EVERY = 10_000;

/**
 * Writes what an operator must know to Nest's logger: losses as errors, outages as warnings. Contention is daily life, and
 * only there for who debugs.
 */
export function logLockEvents(
  events: LockEventHub,
  logger = new Logger('LockModule'),
  now = () => performance.now(),
): void {
  const warn = seldom(EVERY, now, (line) => logger.warn(line));
  const fail = seldom(EVERY, now, (line) => logger.error(line));

  events.on('lost', ({ error, held }) => {
    const why = error.cause === undefined ? '' : `: ${text(error.cause)}`;
    logger.error(`${error.message}${why} (after ${Math.round(held)} ms)`);
  });
  events.on('renewalFailed', ({ key, store, remaining, cause }) => {
    warn(
      `renewal of ${store}`,
      () =>
        `No answer from the store "${store}" to the renewal of "${key}"; its lock ends in ${Math.round(remaining)} ms: ${text(cause)}`,
    );
  });
  events.on('releaseFailed', ({ key, store, cause }) => {
    warn(
      `release of ${store}`,
      () => `No answer from the store "${store}" to the release of "${key}", which is tried again: ${text(cause)}`,
    );
  });
  events.on('unavailable', ({ key, store, cause }) => {
    warn(
      `acquisition of ${store}`,
      () => `"${key}" was not locked: the store "${store}" is unavailable: ${text(cause)}`,
    );
  });
  events.on('contended', ({ key, waited, holder }) => {
    logger.debug(`"${key}" was not locked within ${Math.round(waited)} ms: ${holder ?? 'somebody else'} holds it`);
  });
  events.on('storeWarning', ({ store, warning }) => logger.warn(`The store "${store}": ${warning}`));
  events.onError = (error, event) => {
    const what = event === 'tracer' ? 'The telemetry of locks' : `A listener of the lock event "${event}"`;
    fail(what, () => `${what} failed: ${text(error)}`);
  };
}

function text(cause: unknown): string {
  if (cause === undefined) return 'no answer in time';
  return cause instanceof Error ? cause.message : inspect(cause);
}
