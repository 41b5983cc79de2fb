const { withoutPeers } = require('./without-peers.cjs');

for (const subpath of withoutPeers()) {
  if (Object.keys(require(subpath)).length === 0) throw new Error(`${subpath} exports nothing`);
}
