import { NodeFailure } from './node.failure.js';
import type { RedlockNode } from './redlock.node.js';

/** The answers of all nodes to one question, as far as they have come. */
export class Ballot<T> {
  /** By the node's place in the list. */
  readonly votes: ({ readonly reply: T } | NodeFailure | undefined)[];

  constructor(readonly size: number) {
    this.votes = Array.from({ length: size }, () => undefined);
  }

  /** More than half. */
  get majority(): number {
    return Math.floor(this.size / 2) + 1;
  }

  get replies(): T[] {
    return this.votes.flatMap((vote) => (vote !== undefined && 'reply' in vote ? [vote.reply] : []));
  }

  get failures(): NodeFailure[] {
    return this.votes.filter((vote) => vote instanceof NodeFailure);
  }

  /** How many have neither answered nor failed yet. */
  get open(): number {
    return this.votes.filter((vote) => vote === undefined).length;
  }

  count(matches: (reply: T) => boolean): number {
    return this.replies.filter(matches).length;
  }
}

export interface Question<T> {
  /** @param wanted whether the answer still matters, for requests that have to wait for a connection */
  readonly ask: (node: RedlockNode, wanted: () => boolean) => Promise<T>;
  /** Whether what is known is enough. Those who have not answered then are not waited for. */
  readonly decided: (ballot: Ballot<T>) => boolean;
  /** Waits, also when it is decided, for the nodes from which an answer can be expected. Default `false`. */
  readonly thorough?: boolean;
}

/** Asks all nodes at once. Never rejects: each node's failure is its vote. */
export function poll<T>(nodes: readonly RedlockNode[], question: Question<T>): Promise<Ballot<T>> {
  const { ask, decided, thorough = false } = question;
  const ballot = new Ballot<T>(nodes.length);
  const expected = new Set(thorough ? nodes.filter(({ up }) => up) : []);
  return new Promise((resolve) => {
    let over = false;
    const wanted = (): boolean => !over;
    const came = (index: number, node: RedlockNode, vote: { readonly reply: T } | NodeFailure): void => {
      ballot.votes[index] = vote;
      expected.delete(node);
      if (over || (ballot.open > 0 && (expected.size > 0 || !decided(ballot)))) return;
      over = true;
      resolve(ballot);
    };
    nodes.forEach((node, index) => {
      ask(node, wanted).then(
        (reply) => came(index, node, { reply }),
        (error: unknown) => came(index, node, asFailure(error)),
      );
    });
  });
}

function asFailure(error: unknown): NodeFailure {
  return error instanceof NodeFailure ? error : new NodeFailure(error as Error, true);
}
