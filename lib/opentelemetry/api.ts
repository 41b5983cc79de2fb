import { LockOptionsError } from '../errors/index.js';

/** The package `@opentelemetry/api`, which this library neither installs nor imports before it is used. */
export type OpenTelemetryApi = typeof import('@opentelemetry/api');

/** @throws LockOptionsError when it is not installed */
export async function loadApi(
  load: () => Promise<OpenTelemetryApi> = () => import('@opentelemetry/api'),
): Promise<OpenTelemetryApi> {
  try {
    const loaded = await load();
    // Some loaders show the names of a CommonJS package on `default` alone.
    return 'metrics' in loaded ? loaded : (loaded as { default: OpenTelemetryApi }).default;
  } catch (error) {
    const { code } = error as { code?: unknown };
    if (code !== 'ERR_MODULE_NOT_FOUND' && code !== 'MODULE_NOT_FOUND') throw error;
    throw new LockOptionsError('openTelemetry(): install @opentelemetry/api, and an SDK that exports.', error);
  }
}
