import { LockKeyError } from '../errors/index.js';
import { valueEncoder, type KeyValue } from './key-value.js';

/**
 * A key from a template literal, written as `@DistributedLock('order:<id>')` would write it:
 * ``lockKey`order:${id}` ``. Values are checked and escaped, so that no two sets of values give one key.
 *
 * @throws LockKeyError when a value is `undefined`, `null`, `''`, `NaN` or an object, or two values touch
 */
export function lockKey(literals: TemplateStringsArray, ...values: readonly KeyValue[]): string {
  const place = `lockKey\`${literals.join('${…}')}\``;
  let key = literals[0] as string;
  values.forEach((value, index) => {
    const next = literals[index + 1] as string;
    if (next === '' && index < values.length - 1) throw touching(place);
    key += valueEncoder(next)(value, `value ${index + 1}`, place) + next;
  });
  return key;
}

export function touching(place: string): LockKeyError {
  return new LockKeyError(
    `${place}: two values stand side by side, so that ('1', '23') and ('12', '3') would be one key. Put a ':' between them.`,
  );
}
