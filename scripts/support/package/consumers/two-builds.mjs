// However a tree comes to hold both builds, each knows the errors of the other.
import assert from 'node:assert/strict';
import { createRequire } from 'node:module';

const require = createRequire(import.meta.url);
const { paths } = JSON.parse(process.argv[2]);
const builds = paths
  ? [await import(paths.esm), require(paths.cjs)]
  : // Only where Node does not require ESM does one name lead to both.
    [await import('nestjs-distributed-lock'), require('nestjs-distributed-lock')];
assert.notEqual(builds[0].LockService, builds[1].LockService, 'one build instead of two');

for (const [maker, other] of [builds, builds.toReversed()]) {
  const errors = errorsOf(maker);
  assert.equal(errors.length, Object.keys(maker.LockErrorCode).length, 'an error for each code');
  for (const error of errors) {
    assert.equal(error instanceof other.LockError, false, 'of the other build, and yet an instance');
    for (const { isLockError } of [maker, other]) {
      assert.ok(isLockError(error), `${error.name} is not recognised`);
      assert.ok(isLockError(error, error.code), `${error.name} is not recognised by ${error.code}`);
    }
  }
  assert.ok(
    other.isLockError(
      thrownBy(() => maker.lockKey`order:${undefined}`),
      'LOCK_KEY',
    ),
  );
}

/** One of each class. Whatever their constructors want: a description of a contention is a text to the others. */
function errorsOf(build) {
  return Object.values(build)
    .filter((value) => typeof value === 'function' && value.prototype instanceof build.LockError)
    .map((Class) => new Class({ key: 'order:1', waited: 0 }));
}

function thrownBy(body) {
  try {
    body();
  } catch (error) {
    return error;
  }
  throw new Error('nothing was thrown');
}
