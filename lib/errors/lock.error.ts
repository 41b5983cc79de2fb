/** Stable codes: recognise an error by these, since `instanceof` fails when a tree holds two copies of the package. */
export const LockErrorCode = {
  Contended: 'LOCK_CONTENDED',
  Unavailable: 'LOCK_UNAVAILABLE',
  Lost: 'LOCK_LOST',
  Key: 'LOCK_KEY',
  Reentrancy: 'LOCK_REENTRANCY',
  Options: 'LOCK_OPTIONS',
  Shutdown: 'LOCK_SHUTDOWN',
} as const;

export type LockErrorCode = (typeof LockErrorCode)[keyof typeof LockErrorCode];

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

  /** The same as {@link statusCode}: together they are how Nest 12 knows an error that has an HTTP status. */
  get status(): number {
    return this.statusCode;
  }
}

/** Whether `error` is one of ours, from whichever copy of the package, optionally with one certain code. */
export function isLockError(error: unknown, code?: LockErrorCode): error is LockError {
  const found = (error as { code?: unknown } | null | undefined)?.code;
  const known = typeof found === 'string' && (Object.values(LockErrorCode) as string[]).includes(found);
  return known && error instanceof Error && (code === undefined || found === code);
}
