import { parse, type AnyNode, type Function as FunctionNode, type Pattern } from 'acorn';

/** Reads one parameter, or a part of one, from the arguments of a call. */
export type ReadArgument = (args: readonly unknown[]) => unknown;

/** `computed`: it has a default value that only the function itself can work out. */
export type Parameters = ReadonlyMap<string, ReadArgument | 'computed'>;

type AnyFunction = (...args: never[]) => unknown;

/** What a function's parameters are called, by its own source text; empty when that cannot be told. */
export function parametersOf(method: AnyFunction): Parameters {
  const names = new Map<string, ReadArgument | 'computed'>();
  parseFunction(String(method))?.params.forEach((pattern, index) => {
    collect(names, pattern, (args) => args[index], index);
  });
  return names;
}

export function property(value: unknown, name: string): unknown {
  return value === undefined || value === null ? undefined : (value as Record<string, unknown>)[name];
}

// A method's text is an expression only within an object; an arrow function's only outside of one.
function parseFunction(source: string): FunctionNode | undefined {
  for (const text of [`({${source}})`, `(${source})`]) {
    try {
      const program = parse(text, { ecmaVersion: 'latest', checkPrivateFields: false });
      return findFunction(program);
    } catch {
      // Not of this form.
    }
  }
  return undefined;
}

function findFunction(program: AnyNode): FunctionNode | undefined {
  const statement = program.type === 'Program' ? program.body[0] : undefined;
  let node: AnyNode | undefined = statement?.type === 'ExpressionStatement' ? statement.expression : undefined;
  if (node?.type === 'ObjectExpression') {
    const [first] = node.properties;
    node = first?.type === 'Property' ? first.value : undefined;
  }
  return node?.type === 'FunctionExpression' || node?.type === 'ArrowFunctionExpression' ? node : undefined;
}

function collect(
  names: Map<string, ReadArgument | 'computed'>,
  node: Pattern,
  read: ReadArgument | 'computed',
  index: number,
): void {
  const inner = (name: string): ReadArgument | 'computed' =>
    read === 'computed' ? read : (args) => property(read(args), name);
  switch (node.type) {
    case 'Identifier':
      names.set(node.name, read);
      return;
    case 'AssignmentPattern': {
      collect(names, node.left, withDefault(read, node.right), index);
      return;
    }
    case 'RestElement': {
      collect(names, node.argument, (args) => args.slice(index), index);
      return;
    }
    case 'ArrayPattern':
      node.elements.forEach((element, position) => {
        if (element?.type === 'RestElement') collect(names, element.argument, 'computed', index);
        else if (element) collect(names, element, inner(String(position)), index);
      });
      return;
    case 'ObjectPattern':
      for (const entry of node.properties) {
        if (entry.type === 'RestElement') collect(names, entry.argument, 'computed', index);
        else collect(names, entry.value, entry.computed ? 'computed' : inner(nameOf(entry.key)), index);
      }
      return;
    case 'MemberExpression':
      // Stands in assignments only.
      return;
  }
}

function nameOf(key: AnyNode): string {
  return key.type === 'Identifier' ? key.name : String((key as { value?: unknown }).value);
}

function withDefault(read: ReadArgument | 'computed', fallback: AnyNode): ReadArgument | 'computed' {
  const constant = constantOf(fallback);
  if (read === 'computed' || constant === undefined) return 'computed';
  return (args) => {
    const value = read(args);
    return value === undefined ? constant.value : value;
  };
}

/** The value of an expression that is the same at every call. */
function constantOf(node: AnyNode): { readonly value: unknown } | undefined {
  if (node.type === 'Literal') return { value: node.bigint ? BigInt(node.bigint) : node.value };
  if (node.type === 'ObjectExpression' && node.properties.length === 0) return { value: {} };
  if (node.type === 'ArrayExpression' && node.elements.length === 0) return { value: [] };
  if (node.type === 'UnaryExpression' && node.operator === '-') {
    const { value } = constantOf(node.argument) ?? {};
    return typeof value === 'number' || typeof value === 'bigint' ? { value: -value } : undefined;
  }
  return undefined;
}
