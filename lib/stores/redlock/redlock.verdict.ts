import type { HolderInfo, StoreInspection } from '../../contract/index.js';
import { LockUnavailableError } from '../../errors/index.js';
import type { Ballot } from './ballot.js';
import type { SeenVote, VoteReply } from './redlock.replies.js';

/** Who stands in the way of an owner. */
export interface Contention {
  readonly holder: HolderInfo;
  /** Nobody has a majority, and nobody can have one: several came at once, and each got a part of the votes. */
  readonly split: boolean;
  /** Whether, of those, this owner is the one who goes on. The others see the same, and take their votes back. */
  readonly leads: boolean;
}

/** What an election that was not won says. */
export function contention(ballot: Ballot<VoteReply>, owner: string): Contention {
  const votes = ballot.replies.flatMap((reply) => (reply.granted ? [] : [reply.seen]));
  const own = ballot.replies.length - votes.length;
  const others = countByOwner(votes);
  const unknown = ballot.size - ballot.replies.length;
  const [first] = others;
  const split = first === undefined || first.votes.length + unknown < ballot.majority;
  const leads =
    own > 0 && others.every(({ owner: other, votes: { length } }) => own > length || (own === length && owner < other));
  return { holder: holderOf(ballot, votes, first?.votes ?? []), split, leads: split && leads };
}

/** Who holds a key, as far as the nodes that answered can tell; `undefined` when nobody can. */
export function holderSeen(ballot: Ballot<SeenVote | undefined>): StoreInspection | undefined {
  const votes = ballot.replies.filter((vote) => vote !== undefined);
  const unknown = ballot.size - ballot.replies.length;
  const [first] = countByOwner(votes);
  if (first === undefined || first.votes.length + unknown < ballot.majority) return undefined;
  // It is held for as long as a majority of the votes lasts.
  const remaining = first.votes.map((vote) => vote.remaining).sort((a, b) => b - a);
  const left = remaining[ballot.majority - 1] ?? remaining.at(-1) ?? Infinity;
  return { owner: first.owner, label: first.votes[0]?.label, remaining: left === Infinity ? undefined : left };
}

/** Too few answers to tell anything, of so many nodes. */
export function noQuorum({ failures }: Ballot<unknown>, nodes: number): LockUnavailableError {
  const permanent = failures.filter((failure) => failure.permanent);
  const cause = (permanent[0] ?? failures[0])?.cause;
  return new LockUnavailableError(
    `no quorum: ${failures.length} of ${nodes} nodes did not answer` + (cause ? `; ${cause.message}` : ''),
    { cause, retryable: permanent.length <= (nodes - 1) / 2 },
  );
}

interface OwnerVotes {
  readonly owner: string;
  readonly votes: SeenVote[];
}

/** Whoever has most votes first. */
function countByOwner(votes: readonly SeenVote[]): OwnerVotes[] {
  const owners = new Map<string, OwnerVotes>();
  for (const vote of votes) {
    const found = owners.get(vote.owner);
    if (found === undefined) owners.set(vote.owner, { owner: vote.owner, votes: [vote] });
    else found.votes.push(vote);
  }
  return [...owners.values()].sort((a, b) => b.votes.length - a.votes.length);
}

function holderOf(ballot: Ballot<unknown>, taken: readonly SeenVote[], first: readonly SeenVote[]): HolderInfo {
  const free = ballot.replies.length - taken.length;
  // When a majority could be free, unless something is renewed or given back before.
  const remaining = taken.map((vote) => vote.remaining).sort((a, b) => a - b)[ballot.majority - free - 1] ?? Infinity;
  const label = first[0]?.label;
  return { ...(label ? { label } : {}), ...(remaining === Infinity ? {} : { remaining }) };
}
