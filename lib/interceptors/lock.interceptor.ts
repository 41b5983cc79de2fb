import { Injectable, type CallHandler, type ExecutionContext, type NestInterceptor } from '@nestjs/common';
import { Observable } from 'rxjs';
import { isLockError } from '../errors/index.js';
import { LockScope } from './lock.scope.js';

interface HeaderWriter {
  header?(name: string, value: string): unknown;
}

/**
 * Opens a scope around a handler, so that its lock lasts until its stream has completed, failed or been unsubscribed,
 * and is given back before the answer is sent. `@DistributedLock` binds it; bound globally
 * (`app.useGlobalInterceptors(new LockInterceptor())`) it also gives every other handler `<ctx.…>` keys, waits that end
 * when the client leaves, and `Retry-After` on a contended answer.
 */
@Injectable()
export class LockInterceptor implements NestInterceptor {
  intercept(context: ExecutionContext, next: CallHandler): Observable<unknown> {
    return new Observable((subscriber) => {
      const scope = new LockScope(context);
      const subscription = scope.run(() =>
        next.handle().subscribe({
          next: (value) => subscriber.next(value),
          error: (error: unknown) => {
            const fail = () => {
              adviseRetry(context, error);
              subscriber.error(error);
            };
            scope.end().then(fail, fail);
          },
          complete: () => {
            scope.end().then(
              () => subscriber.complete(),
              (error: unknown) => subscriber.error(error),
            );
          },
        }),
      );
      return () => {
        subscription.unsubscribe();
        scope.end().catch(() => undefined);
      };
    });
  }
}

function adviseRetry(context: ExecutionContext, error: unknown): void {
  const seconds = (error as { retryAfter?: unknown } | null | undefined)?.retryAfter;
  if (context.getType() !== 'http' || !isLockError(error) || typeof seconds !== 'number') return;
  context.switchToHttp().getResponse<HeaderWriter>().header?.('Retry-After', String(seconds));
}
