import { Inject, UseInterceptors } from '@nestjs/common';
import 'reflect-metadata';
import type { Observable } from 'rxjs';
import { LockOptionsError } from '../errors/index.js';
import { LockInterceptor } from '../interceptors/lock.interceptor.js';
import { keyResolver, type KeySource } from '../keys/index.js';
import { LockService } from '../lock.service.js';
import { show } from '../options/index.js';
import { checkDecoratorOptions, decoratedMethod } from './check-use.js';
import type { DistributedLockOptions, ReturnShape } from './distributed-lock.options.js';
import { injectedService, LOCK_SERVICE, type Method } from './locked-method.js';
import { addLockMetadata } from './lock.metadata.js';
import { namedParameters } from './lock-key.decorator.js';
import { lockedAsyncIterable } from './locked-async-iterable.js';
import { lockedObservable } from './locked-observable.js';
import { lockedPromise } from './locked-promise.js';

/** What a locked method may return: a lock takes time, so that nothing can be answered at once. */
// eslint-disable-next-line @typescript-eslint/no-invalid-void-type -- a job that answers nothing may stay as it is
export type Lockable = PromiseLike<unknown> | Observable<unknown> | AsyncIterable<unknown> | void;

/** The arguments of a method whose first arguments are `A`. */
type StartingWith<A extends readonly unknown[]> = readonly [...A, ...unknown[]];

/** A decorator for methods that can be called with what the key function takes. */
export type LockedMethodDecorator<A extends readonly unknown[]> = <M extends (...args: never[]) => Lockable>(
  target: object,
  method: string | symbol,
  descriptor: TypedPropertyDescriptor<M> & (Parameters<M> extends StartingWith<A> ? unknown : never),
) => void;

const LOCKED = { promise: lockedPromise, observable: lockedObservable, asyncIterable: lockedAsyncIterable } as const;

/**
 * Runs the method under a lock: no two calls with one key run at the same time, in whichever process.
 *
 * The key is a template (`'order:<orderId>'`), several (taken together, all or none), or a function of the method's
 * arguments. `<…>` is a parameter's name and path (`<dto.items.0.id>`), a position (`<0.id>`), `<this.tenant>`, or, in a
 * request, `<ctx.user.id>`. Values are read from the arguments that the method really gets, after pipes. The lock is
 * held until the returned promise has settled, the Observable or the async iterable has ended, or the handler's stream has.
 *
 * @throws LockKeyError, LockOptionsError when the class is defined, for whatever can be known then
 */
export function DistributedLock(
  key: string | readonly string[],
  options?: DistributedLockOptions,
): LockedMethodDecorator<[]>;
export function DistributedLock<A extends readonly unknown[]>(
  key: (...args: A) => string | readonly string[],
  options?: DistributedLockOptions<A>,
): LockedMethodDecorator<A>;
export function DistributedLock(key: KeySource, options: DistributedLockOptions = {}): LockedMethodDecorator<never> {
  const decorate = (target: object, name: string | symbol, descriptor: TypedPropertyDescriptor<Method>) => {
    const use = `@DistributedLock(${typeof key === 'function' ? '…' : show(key)})`;
    const method = decoratedMethod(use, target, name, descriptor);
    const place = `${use} on ${target.constructor.name}.${String(name)}`;
    const { condition, returns, abortOnDisconnect, ...rest } = checkDecoratorOptions(options, place);
    const given = { ...rest, template: rest.template ?? (typeof key === 'function' ? undefined : key) };
    const shape = returns ?? returnShape(target, name, method, place);
    refuseAsync(method, shape, place);
    const id = Symbol(place);
    const locked = LOCKED[shape]({
      id,
      place,
      method,
      condition,
      abortOnDisconnect,
      // Frozen, so that the service needs to look at them only once.
      options: Object.freeze(given),
      keysOf: keyResolver(key, { method, named: namedParameters(target, name), place }),
    });
    descriptor.value = keepIdentity(locked, method);
    addLockMetadata(locked, { id, place, options: given });
    injectService(target);
    UseInterceptors(LockInterceptor)(target, name, descriptor);
  };
  return decorate as unknown as LockedMethodDecorator<never>;
}

/** An async function gives a promise of it, which nobody would subscribe to or iterate over: the body would never run. */
function refuseAsync(method: Method, shape: ReturnShape, place: string): void {
  if (shape === 'promise' || Object.prototype.toString.call(method) !== '[object AsyncFunction]') return;
  throw new LockOptionsError(
    `${place}: returns is '${shape}', but the method is async and returns a promise. Leave one out.`,
  );
}

function returnShape(target: object, name: string | symbol, method: Method, place: string): ReturnShape {
  const kind = Object.prototype.toString.call(method);
  if (kind === '[object AsyncGeneratorFunction]') return 'asyncIterable';
  if (kind === '[object GeneratorFunction]') {
    throw new LockOptionsError(
      `${place}: a generator answers at once, but a lock takes time. Make it an async generator.`,
    );
  }
  const declared = Reflect.getMetadata('design:returntype', target, name) as
    { prototype?: { subscribe?: unknown } } | undefined;
  return typeof declared?.prototype?.subscribe === 'function' ? 'observable' : 'promise';
}

/** Name, length and metadata stay those of the method, whichever side of this decorator the others stand. */
function keepIdentity(locked: Method, method: Method): Method {
  for (const property of ['name', 'length'] as const) {
    Object.defineProperty(locked, property, { value: method[property], configurable: true });
  }
  for (const key of Reflect.getOwnMetadataKeys(method) as unknown[]) {
    Reflect.defineMetadata(key, Reflect.getOwnMetadata(key, method), locked);
  }
  return locked;
}

function injectService(target: object): void {
  if (Object.hasOwn(target, injectedService)) return;
  Object.defineProperty(target, injectedService, { value: true });
  Inject(LockService)(target, LOCK_SERVICE);
}
