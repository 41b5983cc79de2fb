/** What one node says when it is asked for its vote. */
export type VoteReply = { readonly granted: true } | { readonly granted: false; readonly seen: SeenVote };

/** Whose vote a node has. */
export interface SeenVote {
  readonly owner: string;
  readonly label: string | undefined;
  /** ms until it ends; `Infinity` where somebody has set it without an end. */
  readonly remaining: number;
}

// A client may be configured to give numbers as text, and text as buffers.

export function voteReply(reply: unknown): VoteReply {
  const [granted, remaining, value] = reply as unknown[];
  if (Number(granted) === 1) return { granted: true };
  return { granted: false, seen: seenVote(value, remaining) };
}

/** `undefined` when nobody has the vote. */
export function lookReply(reply: unknown): SeenVote | undefined {
  if (!Array.isArray(reply)) return undefined;
  const [value, remaining] = reply as unknown[];
  return seenVote(value, remaining);
}

/** A node's run id, from what its INFO says. */
export function runIdOf(reply: unknown): string | undefined {
  return /^run_id:(\w+)/m.exec(textOf(reply))?.[1];
}

const VALUE = /^([0-9a-f]{32})(?::(\d+)(?::(.*))?)?$/s;

function seenVote(value: unknown, remaining: unknown): SeenVote {
  const text = textOf(value);
  // Somebody else may have written whatever they like.
  const [, owner = text, , label] = VALUE.exec(text) ?? [];
  const left = Number(remaining);
  return { owner, label: label || undefined, remaining: left >= 0 ? left : Infinity };
}

function textOf(value: unknown): string {
  return Buffer.isBuffer(value) ? value.toString() : String(value);
}
