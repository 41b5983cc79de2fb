interface Past {
  readonly since: number;
  left: number;
}

/**
 * Makes a `write` that lets one line of a kind through in `every` ms and counts the others; the next line says how many
 * there were. Kinds must be few: each is remembered.
 */
export function seldom(
  every: number,
  now: () => number,
  write: (line: string) => void,
): (kind: string, line: () => string) => void {
  const past = new Map<string, Past>();
  return (kind, line) => {
    const last = past.get(kind);
    if (last !== undefined && now() - last.since < every) {
      last.left += 1;
      return;
    }
    past.set(kind, { since: now(), left: 0 });
    const left = last?.left ?? 0;
    write(left === 0 ? line() : `${line()} (${left} more of this kind since the last such line)`);
  };
}
