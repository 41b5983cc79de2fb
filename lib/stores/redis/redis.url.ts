import { LockOptionsError } from '../../errors/index.js';
import { show } from '../../options/duration.js';

/**
 * A URL of a Redis, as text. Its errors never show what was given: a URL has the password in it.
 *
 * @param name the option, and @param place where it stands, for the message
 * @throws LockOptionsError
 */
export function redisUrl(url: unknown, name: string, place: string): string {
  const wrong = (problem: string) => new LockOptionsError(`${place}: ${name} ${problem}.`);
  if (typeof url !== 'string' && !(url instanceof URL)) throw wrong(`is ${show(url)}, but must be a text or a URL`);
  const text = String(url);
  if (!URL.canParse(text)) throw wrong('is not a URL. It must look like redis://user:password@host:6379/0');
  const { protocol, pathname } = new URL(text);
  if (protocol !== 'redis:' && protocol !== 'rediss:') {
    throw wrong(`begins with '${protocol}', but must begin with 'redis:' or, for TLS, 'rediss:'`);
  }
  // A client would ask the server for the database NaN, and go on in another.
  if (!/^(\/\d*)?$/.test(pathname)) throw wrong('must name the database by its number, or none: redis://host:6379/0');
  return text;
}
