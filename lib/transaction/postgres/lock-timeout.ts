const LONGEST = 2 ** 31 - 1;

/** `lock_timeout` for a wait of so many ms. The server takes 0 for "no limit". */
export function lockTimeout(wait: number): number {
  if (wait > LONGEST) return 0;
  return Math.max(1, Math.ceil(wait));
}
