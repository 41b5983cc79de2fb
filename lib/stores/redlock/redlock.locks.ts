import {
  leaseDeadline,
  systemClock,
  type HolderInfo,
  type RenewOutcome,
  type StoreInspection,
} from '../../contract/index.js';
import { LockUnavailableError } from '../../errors/index.js';
import { poll, type Ballot } from './ballot.js';
import { NodeFailure } from './node.failure.js';
import type { RedlockNode, RenewCall, Withdrawal } from './redlock.node.js';
import type { VoteReply } from './redlock.replies.js';
import { contention, holderSeen, noQuorum } from './redlock.verdict.js';
import { Rounds } from './rounds.js';
import { pause } from './turns.js';

export interface AcquireCall {
  readonly key: string;
  readonly owner: string;
  readonly label: string;
  /** ms. */
  readonly ttl: number;
}

/** A majority of the votes. */
export interface Election {
  readonly won: true;
  readonly round: number;
  readonly validUntil: number;
  /** All that were held for it. Answers that come later are seen in them, too. */
  readonly ballots: readonly Ballot<VoteReply>[];
}

export type Outcome = Election | { readonly won: false; readonly holder: HolderInfo; readonly split: boolean };

// Of a split vote, by whoever leads.
const MOST_BALLOTS = 4;

/**
 * The quorum: each operation as one question to all nodes at once, decided by a majority of answers.
 *
 * @see https://redis.io/docs/latest/develop/use/patterns/distributed-locks/
 */
export class RedlockLocks {
  readonly #rounds = new Rounds();

  constructor(
    private readonly nodes: readonly RedlockNode[],
    /** ms. */
    private readonly nodeTimeout: number,
  ) {}

  /**
   * Wins a majority of the votes for the whole lease time, or takes back whatever it has got.
   *
   * One round, unless the vote is split so that nobody can have won: whoever leads then asks again while the others withdraw.
   *
   * @throws LockUnavailableError when too few nodes answered to tell, or answered too late
   */
  async acquire(call: AcquireCall): Promise<Outcome> {
    const { ttl, key, owner } = call;
    const ballots: Ballot<VoteReply>[] = [];
    for (;;) {
      const round = this.#rounds.of(owner);
      const start = systemClock.now();
      const ballot = await this.#elect(call, round);
      ballots.push(ballot);
      const won = ballot.count(({ granted }) => granted) >= ballot.majority;
      const validUntil = leaseDeadline(start, ttl);
      if (won && validUntil > systemClock.now()) return { won, round, validUntil, ballots };
      const answered = ballot.replies.length >= ballot.majority;
      const { holder, split, leads } = contention(ballot, owner);
      if (!won && answered && leads && ballots.length < MOST_BALLOTS) {
        await pause(1 + Math.random() * 2);
        continue;
      }
      await this.#takeBack(key, owner, round, ballots);
      if (won) throw new LockUnavailableError(`a majority of the nodes took longer than the ttl (${ttl} ms) to answer`);
      if (!answered) throw noQuorum(ballot, this.nodes.length);
      return { won, holder, split };
    }
  }

  /**
   * Whether it was still the owner's, and how many processes were told that it is free.
   *
   * @throws LockUnavailableError when too few nodes answered to tell
   */
  async release(key: string, owner: string, { round, ballots }: Election): Promise<Withdrawal> {
    // A node that has given its vote to somebody else, or was never asked, need not be told.
    const nodes = this.nodes.filter((_, index) => mayHaveVoted(ballots, index));
    const majority = Math.floor(this.nodes.length / 2) + 1;
    const ballot = await poll(nodes, {
      ask: (node) => node.withdraw(key, owner, round),
      decided: (votes) => votes.count(had) >= majority || votes.count(had) + unknown(votes) < majority,
      thorough: true,
    });
    const votes = ballot.count(had);
    const isKnown = votes >= majority || votes + unknown(ballot) < majority;
    if (!isKnown) throw noQuorum(ballot, this.nodes.length);
    this.#rounds.forget(owner);
    return { had: votes >= majority, told: Math.max(0, ...ballot.replies.map(({ told }) => told)) };
  }

  /**
   * Resolves when so many nodes have no vote of the owner that the others are no quorum; those are told when they can be.
   *
   * @throws LockUnavailableError when fewer could be told
   */
  async abandon(key: string, owner: string): Promise<void> {
    const round = this.#rounds.of(owner);
    const ballot = await poll(this.nodes, {
      ask: (node) => node.withdraw(key, owner, round),
      decided: ({ replies, majority }) => replies.length >= majority,
      thorough: true,
    });
    if (ballot.replies.length === ballot.size) this.#rounds.forget(owner);
    else this.#rounds.next(owner);
    if (ballot.replies.length < ballot.majority) throw noQuorum(ballot, this.nodes.length);
  }

  /** In the order of the calls, with the start of the request, from which the leases count. */
  async renew(calls: readonly RenewCall[]): Promise<{ start: number; outcomes: RenewOutcome[] }> {
    const start = systemClock.now();
    const outcomes = (ballot: Ballot<boolean[]>): RenewOutcome[] =>
      calls.map((_, index) => {
        const votes = ballot.count((renewed) => renewed[index] === true);
        if (votes >= ballot.majority) return 'renewed';
        return votes + unknown(ballot) < ballot.majority ? 'lost' : 'unknown';
      });
    const ballot = await poll(this.nodes, {
      ask: (node) => node.renew(calls),
      decided: (votes) => votes.replies.length >= votes.majority && !outcomes(votes).includes('unknown'),
    });
    return { start, outcomes: outcomes(ballot) };
  }

  /** @throws LockUnavailableError when too few nodes answered to tell */
  async inspect(key: string): Promise<StoreInspection | undefined> {
    const ballot = await poll(this.nodes, {
      ask: (node) => node.look(key),
      decided: (votes) => {
        const free = votes.count((vote) => vote === undefined);
        const seen = holderSeen(votes)?.owner;
        const ofOne = seen === undefined ? 0 : votes.count((vote) => vote?.owner === seen);
        return ofOne >= votes.majority || free >= votes.majority;
      },
    });
    if (ballot.replies.length < ballot.majority) throw noQuorum(ballot, this.nodes.length);
    return holderSeen(ballot);
  }

  /**
   * Whether somebody may have held it. Votes that were no majority are taken away as well.
   *
   * @throws LockUnavailableError when somebody may hold it still
   */
  async forceRelease(key: string): Promise<boolean> {
    const ballot = await poll(this.nodes, {
      ask: (node) => node.clear(key),
      decided: ({ replies, majority }) => replies.length >= majority,
      thorough: true,
    });
    if (ballot.replies.length < ballot.majority) throw noQuorum(ballot, this.nodes.length);
    const taken = ballot.count(Boolean);
    return taken > 0 && taken + unknown(ballot) >= ballot.majority;
  }

  #elect({ key, owner, label, ttl }: AcquireCall, round: number): Promise<Ballot<VoteReply>> {
    const timeout = Math.min(this.nodeTimeout, ttl);
    return poll(this.nodes, {
      ask: (node, wanted) => node.vote({ key, owner, label, ttl, round }, timeout, wanted),
      decided: (ballot) => {
        const votes = ballot.count(({ granted }) => granted);
        if (votes >= ballot.majority) return true;
        return votes + ballot.open < ballot.majority && ballot.replies.length >= ballot.majority;
      },
    });
  }

  /** Takes all votes of a round back, also those that may have been given without an answer, or are given yet. */
  async #takeBack(key: string, owner: string, round: number, ballots: readonly Ballot<VoteReply>[]): Promise<void> {
    const nodes = this.nodes.filter((_, index) => mayHaveVoted(ballots, index));
    if (nodes.length === 0) return;
    const ballot = await poll(nodes, {
      ask: (node) => node.withdraw(key, owner, round),
      decided: () => true,
      thorough: true,
    });
    if (ballot.replies.length < nodes.length) this.#rounds.next(owner);
  }
}

/** Whether a node has, may have, or may yet get a vote of the owner's. The last that is known of it counts. */
function mayHaveVoted(ballots: readonly Ballot<VoteReply>[], index: number): boolean {
  let may = false;
  for (const { votes } of ballots) {
    const vote = votes[index];
    if (vote === undefined) may = true;
    else if (vote instanceof NodeFailure) may ||= vote.sent;
    else may = vote.reply.granted;
  }
  return may;
}

/** How many nodes have not said anything. */
function unknown(ballot: Ballot<unknown>): number {
  return ballot.size - ballot.replies.length;
}

function had(withdrawal: Withdrawal): boolean {
  return withdrawal.had;
}
