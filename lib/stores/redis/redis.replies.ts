import type { HolderInfo, StoreInspection } from '../../contract/index.js';

// A client may be configured to give numbers as text, and text as buffers.

/** What the acquire script answers. */
export type AcquireReply = { readonly fence: bigint } | { readonly holder: HolderInfo };

export function isWin(reply: unknown): boolean {
  return Number((reply as unknown[])[0]) === 1;
}

export function acquireReply(reply: unknown): AcquireReply {
  const [, second, label] = reply as unknown[];
  if (isWin(reply)) return { fence: BigInt(text(second)) };
  const remaining = Number(second);
  return { holder: { ...(label ? { label: text(label) } : {}), ...(remaining >= 0 ? { remaining } : {}) } };
}

const VALUE = /^([0-9a-f]{32}):(\d+):(.*)$/s;

export function inspectReply(reply: unknown): StoreInspection | undefined {
  if (!Array.isArray(reply)) return undefined;
  const [value, remaining, waiters, seconds, micros] = reply as unknown[];
  const parsed = VALUE.exec(text(value));
  const common = {
    remaining: Number(remaining) >= 0 ? Number(remaining) : undefined,
    waiters: Number(waiters),
  };
  // Somebody else wrote over it.
  if (!parsed) return { owner: text(value), ...common };
  const [, owner = '', fence = '0', label = ''] = parsed;
  // Reserved, but not confirmed by its owner yet.
  if (fence === '0') return { owner, ...common };
  const now = Number(text(seconds)) * 1_000_000 + Number(text(micros));
  return {
    owner,
    label: label || undefined,
    // A token is the time at which it was given, unless the server's clock has been set back.
    age: Math.max(0, (now - Number(fence)) / 1_000),
    fence: BigInt(fence),
    ...common,
  };
}

function text(value: unknown): string {
  return Buffer.isBuffer(value) ? value.toString() : String(value);
}
