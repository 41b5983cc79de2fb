import { createHash } from 'node:crypto';

/** A Lua script, sent by its digest and, where the server does not know that yet, by its source. */
export interface RedisScript {
  readonly name: string;
  readonly source: string;
  readonly sha: string;
}

export function script(name: string, ...parts: readonly string[]): RedisScript {
  const source = parts.join('\n');
  return { name, source, sha: createHash('sha1').update(source).digest('hex') };
}
