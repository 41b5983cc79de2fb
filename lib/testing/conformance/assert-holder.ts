import assert from 'node:assert/strict';
import type { StoreInspection } from '../../contract/index.js';

/** A store that cannot tell the owner must tell the label; whatever it tells must be so. */
export function assertHolder(
  seen: StoreInspection | undefined,
  owner: string,
  label = 'conformance',
): asserts seen is StoreInspection {
  assert.ok(seen, 'somebody should hold the key');
  const { owner: seenOwner, label: seenLabel } = seen;
  assert.ok(seenOwner !== undefined || seenLabel !== undefined, 'neither the owner nor a label is told');
  assert.equal(seenOwner ?? owner, owner);
  assert.equal(seenLabel ?? label, label);
}
