/** A statement, and which values stand for its parameters, in their order. */
export interface Statement {
  readonly text: string;
  readonly names: readonly string[];
}

/** `dollar`: `$1`, and one number for every use of a name. `question`: `?`, once for each use. */
export type ParameterStyle = 'dollar' | 'question';

/** Replaces `@name` by what the server's driver understands. */
export function statement(style: ParameterStyle, text: string): Statement {
  const names: string[] = [];
  const replaced = text.replaceAll(/@([a-zA-Z]+)/g, (_, name: string) => {
    if (style === 'question') {
      names.push(name);
      return '?';
    }
    if (!names.includes(name)) names.push(name);
    return `$${names.indexOf(name) + 1}`;
  });
  return { text: replaced.replaceAll(/\s+/g, ' ').trim(), names };
}

/** The values of a statement's parameters. */
export function parameters({ names }: Statement, values: Readonly<Record<string, unknown>>): unknown[] {
  return names.map((name) => values[name]);
}
