import type { HolderInfo } from '../../../contract/index.js';
import { jitter } from '../../shared/wait-loop.js';

export interface Refusal {
  readonly holder: HolderInfo | undefined;
  /** How many live tickets are ahead in the queue. */
  readonly ahead: number;
}

export interface PollRules {
  /** How often the first in the queue looks, in ms. */
  readonly pollInterval: number;
  /** How long a ticket lives without a look, in ms. */
  readonly ticketLife: number;
}

// The server's time is a little behind when it answers, and a statement takes its time to arrive.
const AFTER_EXPIRY = 1;
/** Those further back look only in case that the first of the queue has died. */
const BEHIND = 100;

/**
 * When to look again, in ms: the further back in the queue the later, but as soon as the holder's lease has run out, and
 * often enough for the ticket to live.
 */
export function pollDelay({ ahead, holder }: Refusal, { pollInterval, ticketLife }: PollRules): number {
  const unhurried = jitter(pollInterval * (1 + ahead));
  const expiry = (holder?.remaining ?? Infinity) + AFTER_EXPIRY + (ahead > 0 ? jitter(BEHIND) : 0);
  return Math.max(1, Math.min(unhurried, expiry, ticketLife / 4));
}
