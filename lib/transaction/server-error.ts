/** What a server said is wrong, in its own terms. */
export interface ServerError {
  /** PostgreSQL's SQLSTATE. */
  readonly state: string | undefined;
  /** MySQL's and MariaDB's number. */
  readonly errno: number | undefined;
}

// Where libraries keep the driver's own error: TypeORM, MikroORM and Drizzle, Objection, Prisma.
const WRAPPERS = ['driverError', 'cause', 'previous', 'nativeError', 'meta'];
const DEEPEST = 5;

/** Looks for the server's code in an error, and in what it wraps. */
export function serverError(error: unknown, depth = 0): ServerError {
  if (typeof error !== 'object' || error === null || depth > DEEPEST) return { state: undefined, errno: undefined };
  const { code, errno } = error as { code?: unknown; errno?: unknown };
  // The operating system's errors have negative numbers; SQLSTATEs are five characters long, and P2010 is Prisma's own.
  const found = {
    state: typeof code === 'string' && /^[0-9A-Z]{5}$/.test(code) && !/^(P2|E)/.test(code) ? code : undefined,
    errno: typeof errno === 'number' && errno > 0 ? errno : prismaNumber(code),
  };
  if (found.state !== undefined || found.errno !== undefined) return found;
  for (const name of WRAPPERS) {
    const inner = serverError((error as Record<string, unknown>)[name], depth + 1);
    if (inner.state !== undefined || inner.errno !== undefined) return inner;
  }
  return found;
}

// Prisma tells MySQL's number as text.
function prismaNumber(code: unknown): number | undefined {
  return typeof code === 'string' && /^\d{4}$/.test(code) ? Number(code) : undefined;
}

// Libraries have no codes for it: Knex; Kysely; TypeORM.
const ENDED =
  /^(Transaction query already complete|Transaction is already (committed|rolled back)|Query runner already released)/;

/** Whether a library refused a statement because its transaction has ended. The server was not asked then. */
export function saysTransactionEnded(error: unknown): boolean {
  return error instanceof Error && ENDED.test(error.message);
}

export function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
