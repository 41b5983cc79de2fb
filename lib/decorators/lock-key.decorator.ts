import { LockOptionsError } from '../errors/index.js';
import { show } from '../options/index.js';

const NAMED = Symbol('nestjs-distributed-lock:named-parameters');

/**
 * Names a parameter for the key of `@DistributedLock`: needed where the names in the source are lost to a minifier, an
 * old compile target or another decorator. `pay(@LockKey('orderId') orderId: string)` serves `<orderId>`.
 *
 * @throws LockOptionsError when the name is no identifier, or it does not stand on a method's parameter
 */
export function LockKey(name: string): ParameterDecorator {
  if (typeof name !== 'string' || !/^[\p{ID_Start}$_][\p{ID_Continue}$]*$/u.test(name) || name === 'this') {
    throw new LockOptionsError(`@LockKey(${show(name)}): the name must be an identifier, as in @LockKey('orderId').`);
  }
  return (target, method, position) => {
    if (method === undefined) {
      throw new LockOptionsError(`@LockKey('${name}') stands on a constructor's parameter; it belongs on a method's.`);
    }
    const names = new Map(namedParameters(target, method));
    if (names.has(name)) {
      throw new LockOptionsError(`@LockKey('${name}') stands on two parameters of ${String(method)}().`);
    }
    Reflect.defineMetadata(NAMED, names.set(name, position), target, method);
  };
}

/** The positions of the parameters that `@LockKey` has named. */
export function namedParameters(target: object, method: string | symbol): ReadonlyMap<string, number> {
  return (
    (Reflect.getOwnMetadata(NAMED, target, method) as ReadonlyMap<string, number> | undefined) ??
    new Map<string, number>()
  );
}
