import { jitter } from '../shared/wait-loop.js';
import type { Refusal } from './sqlite.session.js';

export interface PollRules {
  /** How often the first in the queue looks, in ms. */
  readonly pollInterval: number;
  /** How many waits of this process share its time. */
  readonly waiting: number;
  /** How long a ticket lives without a look, in ms. */
  readonly ticketLife: number;
}

/** What a look costs, ten times over, in ms: however many keys wait, looking takes about a tenth of the time. */
export const LOOK_SHARE = 0.2;

/**
 * When to look again, in ms: the further back in the queue the later, but as soon as the holder's lease has run out, and
 * often enough for the ticket to live.
 */
export function pollDelay({ ahead, holder }: Refusal, { pollInterval, waiting, ticketLife }: PollRules): number {
  const unhurried = jitter(Math.max(pollInterval * (1 + ahead), waiting * LOOK_SHARE));
  const expiry = (holder?.remaining ?? Infinity) + 1;
  return Math.max(1, Math.min(unhurried, expiry, ticketLife / 4));
}
