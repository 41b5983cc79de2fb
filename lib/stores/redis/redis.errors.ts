import { LockUnavailableError } from '../../errors/index.js';
import type { RedisScript } from './scripts/index.js';

// Trying again cannot help until somebody changes the configuration.
const PERMANENT = [
  /^(WRONGPASS|NOAUTH|NOPERM|NOPROTO|MOVED|CROSSSLOT|WRONGTYPE|DENIED)\b/,
  /^ERR (unknown command|invalid password|invalid username|AUTH |Client sent AUTH|Error compiling script)/i,
  /^ERR Unknown Redis command called from/i,
  /user executing the script can't|ACL failure in script|no permissions to (run|access)/i,
  /subscriber mode|monitoring mode/i,
];

export function isNoScript(error: unknown): boolean {
  return error instanceof Error && error.message.startsWith('NOSCRIPT');
}

export function isPermanent(error: unknown): boolean {
  const message = textOf(error);
  return PERMANENT.some((pattern) => pattern.test(message));
}

/** Whether a node of a cluster says that it does not have the slot, or not all of it any more. */
export function isMoved(error: unknown): boolean {
  return /^(MOVED|ASK|TRYAGAIN)\b/.test(textOf(error));
}

/** What a client library threw, as our error. */
export function unavailable(
  address: string,
  error: unknown,
  {
    script,
    retryable = !isPermanent(error),
  }: { script?: RedisScript | undefined; retryable?: boolean | undefined } = {},
): LockUnavailableError {
  if (error instanceof LockUnavailableError) return error;
  const text = textOf(error);
  const place = script ? placeOf(text, script) : '';
  // What Redis says itself is about its protocol.
  const advice = text.startsWith('NOAUTH') ? ' (it wants a password, and the client has none)' : '';
  return new LockUnavailableError(`redis at ${address}: ${text}${place}${advice}`, {
    cause: clean(error),
    retryable,
  });
}

/**
 * A copy that can be logged: a client's own error carries the command it was about, and with that the password of an
 * AUTH.
 */
export function clean(error: unknown): Error | undefined {
  if (error === undefined) return undefined;
  const copy: Error & { code?: unknown } = new Error(textOf(error));
  if (error instanceof Error) copy.name = error.name;
  const { code } = Object(error) as { code?: unknown };
  if (typeof code === 'string' || typeof code === 'number') copy.code = code;
  return copy;
}

/** A refusal inside a script names its line, not the command. */
function placeOf(message: string, { name, source }: RedisScript): string {
  const line = /user_script:(\d+)/.exec(message)?.[1];
  const command = line && /redis\.call\('(\w+)'/.exec(source.split('\n')[Number(line) - 1] ?? '')?.[1];
  return command ? ` (${command} in the ${name} script)` : '';
}

function textOf(error: unknown): string {
  if (!(error instanceof Error)) return typeof error === 'string' ? error : 'unknown error';
  // A host with several addresses gives an AggregateError, which has no message of its own.
  const own =
    error.message || (error instanceof AggregateError ? error.errors.map(textOf).join('; ') : '') || error.name;
  // A cluster of ioredis tells apart what one of its nodes has said.
  const { lastNodeError } = error as { lastNodeError?: unknown };
  const text = lastNodeError instanceof Error ? `${own.replace(/\.$/, '')}: ${lastNodeError.message}` : own;
  // An unknown command is answered with the arguments that it was sent with.
  return text.replace(/,? with args beginning with:[^]*$/, '');
}
