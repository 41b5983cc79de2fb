import type { ExecutionContext } from '@nestjs/common';
import { isLockError } from '../errors/index.js';

interface Response {
  readonly headersSent?: boolean;
  /** Fastify's replies wrap it. */
  readonly raw?: { readonly headersSent?: boolean };
  header?(name: string, value: string): unknown;
}

/** Tells an HTTP client with `Retry-After` when a new try makes sense. Too late for a stream that has begun. */
export function adviseRetry(context: ExecutionContext, error: unknown): void {
  const seconds = (error as { retryAfter?: unknown } | null | undefined)?.retryAfter;
  if (context.getType() !== 'http' || !isLockError(error) || typeof seconds !== 'number') return;
  const response = context.switchToHttp().getResponse<Response>();
  if ((response.raw ?? response).headersSent !== true) response.header?.('Retry-After', String(seconds));
}
