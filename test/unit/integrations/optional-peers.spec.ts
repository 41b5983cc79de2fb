import { expect, it } from '@jest/globals';
import { loadApi } from '../../../lib/opentelemetry/api.js';
import { failureOf } from '../../../lib/opentelemetry/failure.js';
import { codeOf } from '../../../lib/observability/error-code.js';
import { LockShutdownError, LockUnavailableError } from '../../../lib/index.js';
import { failureForTerminus10 } from '../../../lib/terminus/terminus-10.js';

it('says what to install where OpenTelemetry is missing, and passes other failures on', async () => {
  const missing = Object.assign(new Error('Cannot find package'), { code: 'ERR_MODULE_NOT_FOUND' });
  await expect(loadApi(() => Promise.reject(missing))).rejects.toMatchObject({
    code: 'LOCK_OPTIONS',
    message: 'openTelemetry(): install @opentelemetry/api, and an SDK that exports.',
    cause: missing,
  });
  await expect(loadApi(() => Promise.reject(new SyntaxError('bad file')))).rejects.toThrow(SyntaxError);
});

it('finds OpenTelemetry where a loader shows it on default alone', async () => {
  const api = { metrics: {} };
  expect(await loadApi(async () => ({ default: api }) as never)).toBe(api);
});

it('throws a store that is down for Terminus 10 alone', async () => {
  class HealthCheckError extends Error {
    constructor(
      message: string,
      readonly causes: object,
    ) {
      super(message);
    }
  }
  const result = { locks: { status: 'down' } };
  const failure = (terminus: object) => failureForTerminus10('locks', result, async () => terminus);
  expect(await failure({ HealthCheckError })).toMatchObject({ message: 'locks is down', causes: result });
  // 11 has both, 12 the service alone.
  expect(await failure({ HealthCheckError, HealthIndicatorService: class {} })).toBeUndefined();
  expect(await failure({ HealthIndicatorService: class {} })).toBeUndefined();
  expect(await failureForTerminus10('locks', result, () => Promise.reject(new Error('not there')))).toBeUndefined();
  expect(await failureForTerminus10('locks', result)).toBeUndefined();
});

it('exports of an error its kind and the code of its cause', () => {
  const cause = new Error('denied for "order:7"', { cause: Object.assign(new Error(), { code: 'ECONNREFUSED' }) });
  expect(failureOf(new LockUnavailableError('"order:7" was not locked', { key: 'order:7', cause }))).toEqual({
    outcome: 'unavailable',
    error: {
      name: 'LockUnavailableError',
      code: 'LOCK_UNAVAILABLE',
      message: 'the store did not answer (ECONNREFUSED)',
    },
  });
  expect(failureOf(new LockUnavailableError('gone')).error?.message).toBe('the store did not answer');
  for (const reason of [new LockShutdownError('order:7'), new Error('left'), undefined]) {
    expect(failureOf(reason)).toEqual({ outcome: 'refused' });
  }
});

it('takes for a code what is one word of a fixed vocabulary', () => {
  expect(codeOf({ code: '57P01' })).toBe('57P01');
  expect(codeOf({ code: 'LOCK_UNAVAILABLE', cause: { code: 'ETIMEDOUT' } })).toBe('ETIMEDOUT');
  for (const cause of [undefined, null, 'ETIMEDOUT', { code: 14 }, { code: 'order:7' }, { code: 'x' }]) {
    expect(codeOf(cause)).toBeUndefined();
  }
  const circle: { code?: string; cause?: unknown } = {};
  circle.cause = circle;
  expect(codeOf(circle)).toBeUndefined();
});
