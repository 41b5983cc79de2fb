import { describe, expect, it } from '@jest/globals';
import { keyResolver, lockKey, type KeySource } from '../../../lib/keys/index.js';

type AnyFunction = (...args: never[]) => unknown;

function keysOf(
  source: KeySource,
  method: AnyFunction,
  args: unknown[],
  more: { self?: unknown; request?: unknown; named?: [string, number][] } = {},
) {
  const resolve = keyResolver(source, { method, named: new Map(more.named), place: 'Orders.pay' });
  return resolve({ self: more.self, args, request: () => more.request });
}

const keyOf = (...input: Parameters<typeof keysOf>) => keysOf(...input)[0];
const method = <F extends AnyFunction>(holder: Record<string, F>): F => Object.values(holder)[0] as F;

describe('a key template', () => {
  it('reads parameters, paths, positions, the instance and the request', () => {
    const pay = method({
      async pay(orderId: string, dto: unknown) {
        void [orderId, dto];
      },
    });
    const args = ['7', { items: [{ id: 3 }], user: { id: 'u' } }];
    expect(keyOf('order:<orderId>', pay, args)).toBe('order:7');
    expect(keyOf('item:<dto.items.0.id>:<dto.user.id>', pay, args)).toBe('item:3:u');
    expect(keyOf('item:<1.items.0.id>', pay, args)).toBe('item:3');
    expect(keyOf('t:<this.tenant>:<orderId>', pay, args, { self: { tenant: 'acme' } })).toBe('t:acme:7');
    expect(keyOf('u:<ctx.user.id>', pay, args, { request: { user: { id: 5 } } })).toBe('u:5');
    expect(keyOf('cron:report', pay, args)).toBe('cron:report');
  });

  it('prefers a parameter that is called ctx to the request', () => {
    const query = method({
      async query(ctx: unknown) {
        void ctx;
      },
    });
    expect(keyOf('u:<ctx.id>', query, [{ id: 1 }], { request: { id: 2 } })).toBe('u:1');
  });

  it('gives several keys', () => {
    const move = method({
      async move(from: string, to: string) {
        void [from, to];
      },
    });
    expect(keysOf(['account:<from>', 'account:<to>'], move, ['a', 'b'])).toEqual(['account:a', 'account:b']);
  });

  it('tells the arguments apart whatever characters they hold', () => {
    const two = method({
      async two(a: string, b: string) {
        void [a, b];
      },
    });
    const seen = new Map<string, string>();
    for (const template of [
      'k:<a>:<b>',
      'k/<a>/<b>',
      'k <a>-<b>',
      '<a>x<b>',
      '<a>::<b>',
      '<a>%<b>',
      'k[<a>]<b>',
      '<a>é<b>',
      '<a>😀<b>',
    ]) {
      const parts = [
        'x',
        'x:y',
        'y',
        'y:z',
        'z',
        'x/y',
        'y/z',
        'x-y',
        'xx',
        '%',
        '%25',
        ':',
        '%3A',
        'x]y',
        'é',
        '%C3%A9',
        '😀',
        'x\n',
      ];
      for (const a of parts) {
        for (const b of parts) {
          const key = `${template} ${keyOf(template, two, [a, b])}`;
          expect([key, seen.get(key)]).toEqual([key, undefined]);
          seen.set(key, `${a}|${b}`);
        }
      }
    }
  });

  it('takes braces that name no parameter as they are', () => {
    const one = method({
      async one(a: unknown) {
        void a;
      },
    });
    expect(keyOf('{tag}:<a>', one, [1])).toBe('{tag}:1');
  });

  it('keeps ordinary values readable', () => {
    const one = method({
      async one(a: unknown) {
        void a;
      },
    });
    expect(keyOf('order:<a>', one, ['550e8400-e29b-41d4-a716-446655440000'])).toBe(
      'order:550e8400-e29b-41d4-a716-446655440000',
    );
    expect(keyOf('order:<a>', one, ['a b/ü.x'])).toBe('order:a b/ü.x');
  });

  it.each([
    [undefined],
    [null],
    [''],
    [NaN],
    [Infinity],
    [{}],
    [[]],
    [Symbol('s')],
    [() => 1],
    ['\ud800'],
    [new Date()],
  ])('refuses the value %p', (value) => {
    const one = method({
      async one(user: unknown) {
        void user;
      },
    });
    for (const [template, arg] of [
      ['k:<user>', value],
      ['k:<user.id>', { id: value }],
      ['k:<0.id>', { id: value }],
    ] as const) {
      expect(() => keyOf(template, one, [arg])).toThrow(
        expect.objectContaining({
          code: 'LOCK_KEY',
          message: expect.stringMatching(/Orders\.pay: <.*> is .* must be/),
        }),
      );
    }
  });

  it('refuses a path that leads through nothing', () => {
    const one = method({
      async one(user: unknown) {
        void user;
      },
    });
    for (const user of [null, undefined, {}, { id: null }, { id: {} }, 5]) {
      expect(() => keyOf('k:<user.id.of>', one, [user])).toThrow(/<user.id.of> is/);
    }
  });

  it('takes zero, false and bigints for values', () => {
    const one = method({
      async one(a: unknown) {
        void a;
      },
    });
    expect([0, -0, false, 7n, 1.5].map((value) => keyOf('k:<a>', one, [value]))).toEqual([
      'k:0',
      'k:0',
      'k:false',
      'k:7',
      'k:1.5',
    ]);
  });

  it.each([
    ['', /the key is empty/],
    ['order:<orderId', /'<' or '>'/],
    ['order:<>', /'<' or '>'/],
    ['order:<order Id>', /'<' or '>'/],
    ['order:<orderId>>', /'<' or '>'/],
    ['<orderId><dto.id>', /side by side/],
    ['order:<ordrId>', /no parameter "ordrId".*there is <orderId>, <dto>.*@LockKey\('ordrId'\)/],
    ['order:<this>', /no parameter "this"/],
    ['order:${orderId}', /plain text here.*written <parameter>/],
    ['order:#{orderId}', /plain text here/],
    ['order:{orderId}', /Write <orderId>/],
    ['order:{dto.id}', /Write <dto.id>/],
    ['order:<ctx>', /no parameter "ctx"/],
  ])('refuses %p when the class is defined', (template, message) => {
    const pay = method({
      async pay(orderId: string, dto: unknown) {
        void [orderId, dto];
      },
    });
    expect(() => keyResolver(template, { method: pay, named: new Map(), place: 'Orders.pay' })).toThrow(message);
  });
});

describe('parameter names', () => {
  it.each<[string, AnyFunction, string, unknown[], string]>([
    [
      'a default value',
      method({
        async m(a: string, b = 'x') {
          void [a, b];
        },
      }),
      '<a>:<b>',
      ['1'],
      '1:x',
    ],
    [
      'a default that is given',
      method({
        async m(a: string, b = 5) {
          void [a, b];
        },
      }),
      '<a>:<b>',
      ['1', 6],
      '1:6',
    ],
    [
      'a negative default',
      method({
        async m(b = -5) {
          void b;
        },
      }),
      '<b>',
      [],
      '-5',
    ],
    [
      'destructuring',
      method({
        async m({ id, user: { name: n } }: never) {
          void [id, n];
        },
      }),
      '<id>:<n>',
      [{ id: 1, user: { name: 'x' } }],
      '1:x',
    ],
    [
      'destructuring with defaults',
      method({
        async m({ id = 3 }: { id?: number } = {}) {
          void id;
        },
      }),
      '<id>',
      [],
      '3',
    ],
    [
      'array destructuring',
      method({
        async m([, second]: unknown[]) {
          void second;
        },
      }),
      '<second>',
      [['a', 'b']],
      'b',
    ],
    [
      'rest parameters',
      method({
        async m(...ids: string[]) {
          void ids;
        },
      }),
      '<ids.1>',
      ['a', 'b'],
      'b',
    ],
    ['an arrow function', (async (a: string) => a) as AnyFunction, '<a>', ['1'], '1'],
    [
      'a function expression',
      async function (a: string) {
        return a;
      } as AnyFunction,
      '<a>',
      ['1'],
      '1',
    ],
    [
      'a generator',
      method({
        async *m(a: string) {
          yield a;
        },
      }),
      '<a>',
      ['1'],
      '1',
    ],
    [
      'a computed name',
      method({
        async [Symbol.iterator](a: string) {
          return a;
        },
      } as never),
      '<a>',
      ['1'],
      '1',
    ],
    [
      'strings and comments that look like parameters',
      new Function('return ({ async m(/* x, */ a = ") , z", /* ) */ b /* c */) {} }).m')() as AnyFunction,
      '<b>',
      ['1', '2'],
      '2',
    ],
    [
      'private members in the body',
      class {
        #x = 1;
        async m(a: string) {
          return a + this.#x;
        }
      }.prototype.m as AnyFunction,
      '<a>',
      ['1'],
      '1',
    ],
    [
      'a call of super in the body',
      class extends Object {
        async m(a: string) {
          return super.toString() + a;
        }
      }.prototype.m as AnyFunction,
      '<a>',
      ['1'],
      '1',
    ],
  ])('are found with %s', (_, fn, template, args, key) => {
    // Symbols are no string keys for Object.values().
    const target =
      fn ??
      (async function (a: string) {
        return a;
      } as AnyFunction);
    expect(keyOf(template, target, args)).toBe(key);
  });

  it('are not guessed where another decorator has wrapped the method', () => {
    const wrapped = ((...args: never[]) => args) as AnyFunction;
    expect(() => keyOf('order:<data.id>', wrapped, [{ id: 1 }])).toThrow(
      /no parameter "data".*there is <args>.*position \(<0>\)/,
    );
  });

  it('are not guessed for native and bound functions', () => {
    const bound = (async (a: string) => a).bind(null) as AnyFunction;
    expect(() => keyOf('order:<a>', bound, ['1'])).toThrow(/nor any whose name can be told/);
  });

  it('are refused where only the method can work out the value', () => {
    const m = method({
      async m(a: string, b = a + 'x') {
        void b;
      },
    });
    expect(() => keyOf('k:<b>', m, ['1', '2'])).toThrow(/only the method itself can work out/);
    expect(keyOf('k:<a>', m, ['1'])).toBe('k:1');
  });

  it('can be given by @LockKey, which wins over the source', () => {
    const minified = ((e: string, t: string) => [e, t]) as AnyFunction;
    expect(keyOf('k:<id>', minified, ['1', '2'], { named: [['id', 1]] })).toBe('k:2');
  });
});

describe('a key function', () => {
  it('gives one key or several, as they are', () => {
    expect(
      keysOf(
        (a: string) => `k:${a}`,
        async (a: string) => a,
        ['x:y'],
      ),
    ).toEqual(['k:x:y']);
    expect(
      keysOf(
        (a: string) => [a, 'b'],
        async (a: string) => a,
        ['x'],
      ),
    ).toEqual(['x', 'b']);
  });

  it.each([[[]], [undefined], [''], [['a', '']], [5], [Promise.resolve('a')], [['a', null]]])(
    'is refused when it gives %p',
    (result) => {
      expect(() => keysOf((() => result) as never, async () => undefined, [])).toThrow(
        expect.objectContaining({ code: 'LOCK_KEY' }),
      );
    },
  );
});

describe('lockKey', () => {
  it('writes the key that the template of a decorator would', () => {
    const two = method({
      async two(a: string, b: string) {
        void [a, b];
      },
    });
    expect(lockKey`k:${'x:y'}/${'a/b'}`).toBe(keyOf('k:<a>/<b>', two, ['x:y', 'a/b']));
  });

  it('refuses what a template refuses', () => {
    expect(() => lockKey`order:${undefined as never}`).toThrow(/value 1 is undefined/);
    expect(() => lockKey`${'1'}${'2'}`).toThrow(/side by side/);
  });
});
