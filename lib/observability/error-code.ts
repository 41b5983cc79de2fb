/**
 * The code of what went wrong underneath, at whichever depth of the causes: `ECONNREFUSED`, `57P01`. For places that a
 * message must not come to: it may hold a key, an address or whatever a server says.
 */
export function codeOf(cause: unknown): string | undefined {
  let error = cause;
  for (let depth = 0; depth < 5 && typeof error === 'object' && error !== null; depth += 1) {
    const { code, cause: next } = error as { code?: unknown; cause?: unknown };
    // Our own codes are known already where this is asked.
    if (typeof code === 'string' && /^[A-Z\d_]{3,40}$/.test(code) && !code.startsWith('LOCK_')) return code;
    error = next;
  }
  return undefined;
}
