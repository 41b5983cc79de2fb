import assert from 'node:assert/strict';
import type { ConformanceSuite } from './conformance.suite.js';

/** What the store says of itself. */
export function promises(suite: ConformanceSuite): void {
  suite.test('the store promises what its conformance options say', async (bench) => {
    const store = await bench.store();
    assert.deepEqual({ ...store.guarantees }, { ...suite.guarantees });
    assert.ok(store.modes.includes('exclusive'));
    assert.ok(store.name.length > 0);
    if (store.guarantees.expiry === 'lease') assert.equal(typeof store.renew, 'function', 'a lease store must renew');
  });
}
