import { LockKeyError } from '../errors/index.js';
import { show } from '../options/duration.js';
import { checkKeys } from './check-key.js';
import { valueEncoder } from './key-value.js';
import { parametersOf, property, type Parameters, type ReadArgument } from './parameters.js';
import { parseTemplate, type Placeholder } from './template.js';

type AnyFunction = (...args: never[]) => unknown;

/** One call of a method, as far as its keys may depend on it. */
export interface Call {
  readonly self: unknown;
  readonly args: readonly unknown[];
  /** The request that it serves, if any. */
  readonly request: () => unknown;
}

export type ResolveKeys = (call: Call) => readonly string[];

/** How the key of a method is given: a template, several, or a function of the method's arguments. */
export type KeySource = string | readonly string[] | ((...args: never[]) => string | readonly string[]);

export interface MethodInfo {
  readonly method: AnyFunction;
  /** Positions by the names that `@LockKey` gave them. */
  readonly named: ReadonlyMap<string, number>;
  /** Where the method stands, for messages. */
  readonly place: string;
}

/**
 * Makes the function that tells a method's keys from a call. All that can be known without a call is checked here.
 *
 * @throws LockKeyError when a template is malformed or names a parameter that the method does not have
 */
export function keyResolver(source: KeySource, info: MethodInfo): ResolveKeys {
  if (typeof source === 'function') {
    return ({ self, args }) => checkKeys(source.apply(self, args as never[]), info.place);
  }
  const templates: readonly unknown[] = Array.isArray(source) ? source : [source];
  if (templates.length === 0)
    throw new LockKeyError(`${info.place}: the list of keys is empty, so that there is nothing to lock.`);
  let parameters: Parameters | undefined;
  const resolvers = templates.map((template) =>
    templateResolver(template, info, () => (parameters ??= parametersOf(info.method))),
  );
  return (call) => resolvers.map((resolve) => resolve(call));
}

function templateResolver(template: unknown, info: MethodInfo, parameters: () => Parameters): (call: Call) => string {
  if (typeof template !== 'string') {
    throw new LockKeyError(
      `${info.place}: the key is ${show(template)}, but must be a template, a list of them, or a function.`,
    );
  }
  const { start, placeholders } = parseTemplate(template, info.place);
  refuseBraces(template, info, parameters);
  const values = placeholders.map((placeholder) => {
    const read = reader(placeholder, info, parameters);
    const encode = valueEncoder(placeholder.next);
    return (call: Call) => encode(read(call), `<${placeholder.text}>`, info.place) + placeholder.next;
  });
  return (call) => values.reduce((key, value) => key + value(call), start);
}

/** `{id}` is how other libraries write it. Here it is plain text, and every call would have one key. */
function refuseBraces(template: string, { place }: MethodInfo, parameters: () => Parameters): void {
  const braced = /\{([^{}]+)\}/.exec(template)?.[1];
  const root = braced?.split('.')[0];
  if (braced === undefined || root === undefined || !parameters().has(root)) return;
  throw new LockKeyError(`${place}: {${braced}} is plain text in a key. Write <${braced}> for the parameter's value.`);
}

function reader(placeholder: Placeholder, info: MethodInfo, parameters: () => Parameters): (call: Call) => unknown {
  const { path, root } = placeholder;
  const follow = (value: unknown) => path.reduce(property, value);
  const position = /^\d+$/.test(root) ? Number(root) : info.named.get(root);
  if (position !== undefined) return ({ args }) => follow(args[position]);
  if (root === 'this' && path.length > 0) return ({ self }) => follow(self);
  const read = parameters().get(root);
  if (read === undefined && root === 'ctx' && path.length > 0) return ({ request }) => follow(request());
  const parameter = known(read, placeholder, info, parameters());
  return ({ args }) => follow(parameter(args));
}

function known(
  read: ReadArgument | 'computed' | undefined,
  { text, root }: Placeholder,
  { method, place }: MethodInfo,
  parameters: Parameters,
): ReadArgument {
  if (typeof read === 'function') return read;
  const fixes = `Use a position (<0>), mark the parameter with @LockKey('${root}'), or give a function as the key: (…args) => string.`;
  if (read === 'computed') {
    throw new LockKeyError(`${place}: <${text}> has a value that only the method itself can work out. ${fixes}`);
  }
  const names = [...parameters.keys()].map((name) => `<${name}>`).join(', ');
  throw new LockKeyError(
    `${place}: the method has no parameter "${root}" for <${text}>` +
      (names === '' ? `, nor any whose name can be told (it takes ${method.length})` : `; there is ${names}`) +
      `. A minifier, an old compile target or another decorator may have taken the names away. ${fixes}`,
  );
}
