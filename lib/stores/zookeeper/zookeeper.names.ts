import { createHash } from 'node:crypto';

/** An entry of a queue, as its node is named. */
export interface EntryName {
  readonly name: string;
  readonly owner: string;
  readonly sequence: number;
}

const KEY_SHOWN = 200;

let last: { readonly key: string; readonly node: string } | undefined;

/** The node of a key: its SHA-256, so that a key may be of any text and of any length. 43 characters, none of them a slash. */
export function keyNode(key: string): string {
  // One key is asked for several times in a row.
  if (last?.key !== key) last = { key, node: createHash('sha256').update(key, 'utf8').digest('base64url') };
  return last.node;
}

/** What the server appends its sequence number to. The owner is in it so that a create whose answer was lost is found. */
export function entryPrefix(owner: string): string {
  return `${owner}-`;
}

/** What is in an entry, for people and for `inspect()`. */
export function entryData(label: string, key: string): Buffer {
  return Buffer.from(JSON.stringify({ label, key: key.slice(0, KEY_SHOWN) }));
}

export function labelIn(data: Buffer | undefined): string | undefined {
  try {
    const { label } = JSON.parse(data?.toString() ?? '') as { label?: unknown };
    return typeof label === 'string' ? label : undefined;
  } catch {
    return undefined;
  }
}

/** The entries among a node's children, first come first. Whatever else stands there is somebody else's. */
export function queueOf(children: readonly string[]): EntryName[] {
  return children.flatMap((name) => parse(name) ?? []).sort(inOrder);
}

function parse(name: string): EntryName | undefined {
  const [, owner, sequence] = /^([0-9a-f]{32})-(-?\d{9,10})$/.exec(name) ?? [];
  return owner === undefined ? undefined : { name, owner, sequence: Number(sequence) };
}

/**
 * The server numbers the children of one node by a signed counter of 32 bits, which goes from 2147483647 to -2147483648. The distance that
 * 32-bit arithmetic gives has the right sign all the same, as long as fewer than 2^31 were created since the oldest one that stands: the new number behind
 * the wrap is the larger one. A node that was removed and made again begins anew, with no entries in it.
 */
function inOrder(a: EntryName, b: EntryName): number {
  return (a.sequence - b.sequence) | 0;
}
