import { LockFencedError, LockOptionsError } from '../errors/index.js';
import { parseDuration, show, type Duration } from '../options/duration.js';
import { tokenOf, type Fenced } from './fence.js';

/** What is used of a client of ioredis, iovalkey or node-redis, be it of one node or of a cluster. */
export type FenceClient =
  | { eval(source: string, numberOfKeys: number, ...keysAndArgs: string[]): Promise<unknown> }
  | { evalSha: unknown; eval(source: string, options?: { keys?: string[]; arguments?: string[] }): Promise<unknown> };

/** The options of {@link fencedCommand}. */
export interface FencedCommandOptions {
  /** How long a key's largest token is remembered after its last write: longer than any holder may be paused. @default '1d' */
  readonly keepFor?: Duration | undefined;
}

const PLACE = 'fencedCommand()';
const DAY = 86_400_000;

// Tokens are compared as text: Lua's numbers have 53 bits. The command runs first, so that one that fails remembers nothing.
const SCRIPT = `
local token, last = ARGV[1], redis.call('GET', KEYS[2])
if last and (#last > #token or (#last == #token and last > token)) then return {0, last} end
local reply = redis.call(unpack(ARGV, 3))
redis.call('SET', KEYS[2], token, 'PX', ARGV[2])
return {1, reply}`;

/**
 * Runs one write command on one key unless the key was written with a larger token before: the resource's half of fencing, for data in
 * Redis. The largest token stands beside the key, in the same slot, under `{key}:fence`.
 *
 * @param command the command and its arguments; the key is the first of them
 * @returns what the command answers
 * @throws LockFencedError when the key has been written with a larger token; nothing was written
 * @throws LockOptionsError when an argument is wrong
 * @example await fencedCommand(redis, lock, ['SET', 'stock:42', '7']);
 */
export async function fencedCommand(
  client: FenceClient,
  fenced: Fenced,
  command: readonly [name: string, key: string, ...values: string[]],
  { keepFor = DAY }: FencedCommandOptions = {},
): Promise<unknown> {
  const token = tokenOf(fenced, PLACE);
  const life = parseDuration(keepFor, { min: 1 }, 'keepFor', PLACE);
  if (!Array.isArray(command) || command.length < 2 || command.some((part) => typeof part !== 'string')) {
    throw new LockOptionsError(
      `${PLACE}: the command is ${show(command)}, but must be a list of texts: ['SET', key, value].`,
    );
  }
  const [, key] = command;
  const keys = [key, fenceKey(key)];
  const values = [String(token), String(Math.ceil(life)), ...(command as readonly string[])];
  const [written, reply] = (await run(client, keys, values)) as [written: unknown, reply: unknown];
  if (Number(written) === 1) return reply;
  throw new LockFencedError(
    `"${key}" was not written with the fencing token ${token}: it has seen ${String(reply)}`,
    token,
  );
}

/** In the slot of `key`, whether it has a hash tag of its own or is hashed as a whole. */
function fenceKey(key: string): string {
  const open = key.indexOf('{');
  const tagged = open >= 0 && key.indexOf('}', open + 1) > open + 1;
  // A key with a closing brace before any tag cannot be one; it has its fence beside it on a single node only.
  return tagged ? `${key}:fence` : `{${key}}:fence`;
}

function run(client: FenceClient, keys: string[], values: string[]): Promise<unknown> {
  if ('evalSha' in client) return client.eval(SCRIPT, { keys, arguments: values });
  return client.eval(SCRIPT, keys.length, ...keys, ...values);
}
