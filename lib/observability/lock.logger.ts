import { Logger } from '@nestjs/common';
import { inspect } from 'node:util';
import type { LockEventHub } from '../engine/lock.events.js';

/** Writes what an operator must know to Nest's logger: losses and outages. Contention is daily life, and not logged. */
export function logLockEvents(events: LockEventHub, logger = new Logger('LockModule')): void {
  events.on('lost', ({ error, held }) => logger.error(`${error.message} (after ${Math.round(held)} ms)`));
  events.on('renewalFailed', ({ key, store, remaining, cause }) => {
    logger.warn(
      `No answer from the store "${store}" to the renewal of "${key}"; its lock ends in ${Math.round(remaining)} ms: ${text(cause)}`,
    );
  });
  events.on('releaseFailed', ({ key, store, cause }) => {
    logger.warn(`No answer from the store "${store}" to the release of "${key}", which is tried again: ${text(cause)}`);
  });
  events.on('unavailable', ({ key, store, cause }) => {
    logger.warn(`"${key}" was not locked: the store "${store}" is unavailable: ${text(cause)}`);
  });
  events.on('storeWarning', ({ store, warning }) => logger.warn(`The store "${store}": ${warning}`));
  events.onError = (error, event) => logger.error(`A listener of the lock event "${event}" failed: ${text(error)}`);
}

function text(cause: unknown): string {
  if (cause === undefined) return 'no answer in time';
  return cause instanceof Error ? cause.message : inspect(cause);
}
