// Each subpath, imported; what follows the subpaths among the arguments is not to be there.
import { withoutPeers } from './without-peers.cjs';

for (const subpath of withoutPeers()) {
  const names = Object.keys(await import(subpath));
  if (names.length === 0) throw new Error(`${subpath} exports nothing`);
}
