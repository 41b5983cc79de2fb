import { isLockError, LockUnavailableError, type LockError } from '../../errors/index.js';

/** What an error of a call says about the call. */
export interface Failure {
  /** Another member may answer, or this one later. */
  readonly transient: boolean;
  /** The request may have been carried out, or still be. */
  readonly unsure: boolean;
}

// gRPC's status codes, which are what etcd3's errors begin with.
const CANCELLED = 1;
const UNKNOWN = 2;
const DEADLINE_EXCEEDED = 4;
const PERMISSION_DENIED = 7;
const UNIMPLEMENTED = 12;
const INTERNAL = 13;
const UNAVAILABLE = 14;
const TRANSIENT = [CANCELLED, UNKNOWN, DEADLINE_EXCEEDED, INTERNAL, UNAVAILABLE];

/** Never left this process, or was turned away at the door. */
const NOT_SENT =
  /No connection established|Name resolution failed|etcdserver: (no leader|not leader|too many requests)|circuit breaker/;
// Trying again cannot help until somebody changes the configuration.
const PERMANENT =
  /permission denied|authentication failed|authentication is not enabled|user name (is empty|not found)|user is not|invalid auth/i;
const LEASE_GONE = /requested lease not found|EtcdLeaseInvalidError/;
const LEASE_EXISTS = /lease already exists/;
const STALE_LOGIN = /revision of auth store is old|auth: revision in header is old|invalid auth token/;

/** A call was not answered in time. */
export class NoAnswerError extends Error {
  override readonly name = 'NoAnswerError';
  readonly code = DEADLINE_EXCEEDED;

  /** @param timeout ms */
  constructor(timeout: number) {
    super(`no answer within ${Math.round(timeout)} ms`);
  }
}

export function failureOf(error: unknown): Failure {
  const code = codeOf(error);
  const text = textOf(error);
  const transient = code === undefined ? /circuit breaker|Broken/i.test(text) : TRANSIENT.includes(code);
  return { transient, unsure: transient && !NOT_SENT.test(text) };
}

export function isLeaseGone(error: unknown): boolean {
  return LEASE_GONE.test(textOf(error));
}

export function isLeaseTaken(error: unknown): boolean {
  return LEASE_EXISTS.test(textOf(error));
}

/** The login that a client keeps is not accepted any more; a new client logs in anew. */
export function isStaleLogin(error: unknown): boolean {
  return STALE_LOGIN.test(textOf(error));
}

/** What the client library threw, as our error. */
export function unavailable(address: string, error: unknown): LockError {
  if (isLockError(error)) return error;
  const code = codeOf(error);
  const text = textOf(error);
  const permanent = code === PERMISSION_DENIED || code === UNIMPLEMENTED || PERMANENT.test(text);
  return new LockUnavailableError(`etcd at ${address}: ${text}`, { cause: clean(error), retryable: !permanent });
}

/**
 * What `open()` says when no member was reached, or none answered, within `timeout` ms. Any other failure stays as it is: a server that has said
 * what is wrong was reached.
 */
export function unreached(address: string, timeout: number, failure: unknown): unknown {
  const { cause } = Object(failure) as { cause?: unknown };
  const text = textOf(cause);
  const late = isDeadline(cause);
  if (!(late || codeOf(cause) === UNAVAILABLE) || text.includes('etcdserver:')) return failure;
  const problem = late ? `gave no answer within ${timeout} ms` : `cannot be reached within ${timeout} ms: ${text}`;
  return new LockUnavailableError(`etcd at ${address} ${problem}`, { cause });
}

/** That a call's time was over, which says nothing of why. */
export function isDeadline(error: unknown): boolean {
  return codeOf(error) === DEADLINE_EXCEEDED;
}

/** A copy that can be logged: a client's own error may carry the call's metadata, and with that the login. */
function clean(error: unknown): Error {
  const copy: Error & { code?: unknown } = new Error(textOf(error));
  if (error instanceof Error) copy.name = error.name === 'Error' ? error.constructor.name : error.name;
  copy.code = codeOf(error);
  return copy;
}

/** etcd3 keeps the code in the text only. */
function codeOf(error: unknown): number | undefined {
  const { code } = Object(error) as { code?: unknown };
  if (typeof code === 'number') return code;
  const named = /^(?:\w+: )?(\d+) [A-Z_]+: /.exec(textOf(error))?.[1];
  return named === undefined ? undefined : Number(named);
}

function textOf(error: unknown): string {
  if (error instanceof Error) return error.message || error.name;
  return typeof error === 'string' ? error : 'unknown error';
}
