/** The subpaths to load, once it is sure that no optional peer can be found from here. */
exports.withoutPeers = () => {
  const { subpaths, peers } = JSON.parse(process.argv[2]);
  const found = peers.filter(resolves);
  if (found.length > 0) throw new Error(`installed, so that nothing is proven: ${found.join(', ')}`);
  return subpaths;
};

function resolves(name) {
  try {
    require.resolve(name);
    return true;
  } catch (error) {
    return error.code !== 'MODULE_NOT_FOUND';
  }
}
