import {
  Inject,
  Injectable,
  Optional,
  type CallHandler,
  type ExecutionContext,
  type NestInterceptor,
} from '@nestjs/common';
import { Observable } from 'rxjs';
import { adviseRetry } from './advise-retry.js';
import { LOCK_HANDLING, type LockHandling } from './lock.handling.js';
import { LockScope } from './lock.scope.js';
import { raisedFor } from './transport.errors.js';

/**
 * Opens a scope around a handler, so that its lock lasts until its stream has completed, failed or been unsubscribed,
 * and is given back before the answer is sent; and turns a lock error into the exception that the handler's transport
 * understands. `@DistributedLock` binds it. Bound globally (`{ provide: APP_INTERCEPTOR, useExisting: LockInterceptor }`)
 * it does the same for every other handler, gives it `<ctx.…>` keys, and `Retry-After` on a contended answer.
 */
@Injectable()
export class LockInterceptor implements NestInterceptor {
  /** @param handling the module's; without it, as in `new LockInterceptor()`, the defaults */
  constructor(@Optional() @Inject(LOCK_HANDLING) private readonly handling?: LockHandling) {}

  intercept(context: ExecutionContext, next: CallHandler): Observable<unknown> {
    return new Observable((subscriber) => {
      const scope = new LockScope(context, this.handling?.abortOnDisconnect);
      let ended = false;
      const raise = (error: unknown) => {
        adviseRetry(context, error);
        raisedFor(error, context, this.handling?.errors)
          // What it throws itself.
          .catch((thrown: unknown) => thrown)
          .then((raised) => subscriber.error(raised))
          .catch(() => undefined);
      };
      const subscription = scope.run(() =>
        next.handle().subscribe({
          next: (value) => subscriber.next(value),
          error: (error: unknown) => {
            ended = true;
            const fail = () => raise(error);
            scope.end().then(fail, fail);
          },
          complete: () => {
            ended = true;
            scope.end().then(() => subscriber.complete(), raise);
          },
        }),
      );
      return () => {
        subscription.unsubscribe();
        if (!ended) scope.leave();
      };
    });
  }
}
