import { LockOptionsError } from '../errors/index.js';

/**
 * Refuses a misspelt option, which would otherwise do nothing.
 *
 * @param place what the options are given to, for the message
 * @throws LockOptionsError that names the first option that is not known, and all that are
 */
export function refuseUnknown(options: object, place: string, known: readonly string[]): void {
  const unknown = Object.keys(options).find((name) => !known.includes(name));
  if (unknown !== undefined) throw unknownOption(unknown, place, known);
}

export function unknownOption(name: string, place: string, known: readonly string[]): LockOptionsError {
  return new LockOptionsError(`${place}: there is no option "${name}". There are: ${known.join(', ')}.`);
}
