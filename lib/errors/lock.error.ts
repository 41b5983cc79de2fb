import type { FencingHeaderError } from './fencing-header.error.js';
import type { LockContendedError } from './lock-contended.error.js';
import type { LockFencedError } from './lock-fenced.error.js';
import type { LockKeyError } from './lock-key.error.js';
import type { LockLostError } from './lock-lost.error.js';
import type { LockOptionsError } from './lock-options.error.js';
import type { LockReentrancyError } from './lock-reentrancy.error.js';
import type { LockShutdownError } from './lock-shutdown.error.js';
import type { LockUnavailableError } from './lock-unavailable.error.js';
import { stoodFor } from './stand-in.js';

/** Stable codes: recognise an error by these, since `instanceof` fails when a tree holds two copies of the package. */
export const LockErrorCode = {
  Contended: 'LOCK_CONTENDED',
  Unavailable: 'LOCK_UNAVAILABLE',
  Lost: 'LOCK_LOST',
  Key: 'LOCK_KEY',
  Reentrancy: 'LOCK_REENTRANCY',
  Options: 'LOCK_OPTIONS',
  Shutdown: 'LOCK_SHUTDOWN',
  Fenced: 'LOCK_FENCED',
  FencingHeader: 'LOCK_FENCING_HEADER',
} as const;

export type LockErrorCode = (typeof LockErrorCode)[keyof typeof LockErrorCode];

/** The class behind each code. */
export interface LockErrorsByCode {
  readonly LOCK_CONTENDED: LockContendedError;
  readonly LOCK_UNAVAILABLE: LockUnavailableError;
  readonly LOCK_LOST: LockLostError;
  readonly LOCK_KEY: LockKeyError;
  readonly LOCK_REENTRANCY: LockReentrancyError;
  readonly LOCK_OPTIONS: LockOptionsError;
  readonly LOCK_SHUTDOWN: LockShutdownError;
  readonly LOCK_FENCED: LockFencedError;
  readonly LOCK_FENCING_HEADER: FencingHeaderError;
}

/** What every error of this package has in common. */
export abstract class LockError extends Error {
  abstract readonly code: LockErrorCode;
  /** The HTTP status that Nest answers with when no filter says otherwise. */
  abstract readonly statusCode: number;
  /** Keys and causes are nothing for a client: Nest 12 sends the status's own text instead of the message. */
  readonly expose = false;
  /** The key it is about, where there is one. */
  readonly key: string | undefined;

  constructor(message: string, key?: string, cause?: unknown) {
    super(message, cause === undefined ? undefined : { cause });
    this.name = new.target.name;
    this.key = key;
  }

  // An exception of a transport that stands for one of ours is one of ours to every filter and every catch.
  static override [Symbol.hasInstance](value: unknown): boolean {
    const isInstance = Function.prototype[Symbol.hasInstance];
    return isInstance.call(this, value) || isInstance.call(this, stoodFor(value));
  }

  /** The same as {@link statusCode}: together they are how Nest 12 knows an error that has an HTTP status. */
  get status(): number {
    return this.statusCode;
  }

  /** What graphql sends with the message of an error that no interceptor has seen, as from a guard. */
  get extensions(): { readonly code: LockErrorCode } {
    return { code: this.code };
  }
}

/** Whether `error` is one of ours, from whichever copy of the package, optionally with one certain code. */
export function isLockError(error: unknown): error is LockError;
export function isLockError<C extends LockErrorCode>(error: unknown, code: C): error is LockErrorsByCode[C];
export function isLockError(error: unknown, code?: LockErrorCode): error is LockError {
  const found = (error as { code?: unknown } | null | undefined)?.code;
  const known = typeof found === 'string' && (Object.values(LockErrorCode) as string[]).includes(found);
  return known && error instanceof Error && (code === undefined || found === code);
}
