import { LockKeyError } from '../errors/index.js';
import { touching } from './lock-key.js';

export interface Placeholder {
  /** As it stands between the angle brackets: `dto.items.0.id`. */
  readonly text: string;
  /** Its first part: a parameter's name, a position, `this` or `ctx`. */
  readonly root: string;
  readonly path: readonly string[];
  /** The fixed text behind it. */
  readonly next: string;
}

export interface Template {
  readonly start: string;
  readonly placeholders: readonly Placeholder[];
}

const PLACEHOLDER = /<([\p{ID_Start}$_\d][\p{ID_Continue}$]*(?:\.[\p{ID_Continue}$-]+)*)>/u;

/**
 * Takes a key template apart: `order:<orderId>:<dto.items.0.id>`.
 *
 * @throws LockKeyError when it is empty, when a `<` opens no placeholder, or when two placeholders touch
 */
export function parseTemplate(template: string, place: string): Template {
  if (template === '')
    throw new LockKeyError(`${place}: the key is empty. Name what must be exclusive, as in 'order:<orderId>'.`);
  if (/[$#]\{/.test(template)) {
    throw new LockKeyError(
      `${place}: '${template}' has a '\${' or '#{', which is plain text here, so that every call would have one key. ` +
        "A placeholder is written <parameter>, as in 'order:<orderId>'.",
    );
  }
  const parts = template.split(new RegExp(PLACEHOLDER, 'u'));
  // split() puts the captured placeholders at the odd places.
  const placeholders = parts.flatMap((text, index): Placeholder[] => {
    if (index % 2 === 0) return [];
    const [root = '', ...path] = text.split('.');
    return [{ text, root, path, next: parts[index + 1] as string }];
  });
  const literals = parts.filter((_, index) => index % 2 === 0);
  if (literals.some((literal) => /[<>]/.test(literal))) {
    throw new LockKeyError(
      `${place}: '${template}' has a '<' or '>' that belongs to no placeholder. A placeholder is <parameter>, ` +
        '<parameter.path>, <0>, <this.property> or <ctx.path>; for anything else use a function as the key.',
    );
  }
  if (placeholders.slice(0, -1).some(({ next }) => next === '')) throw touching(place);
  return { start: literals[0] as string, placeholders };
}
