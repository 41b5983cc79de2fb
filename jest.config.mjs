/** @type {import('jest').Config} */
export default {
  testEnvironment: 'node',
  roots: ['<rootDir>/test'],
  testMatch: ['**/*.spec.ts'],
  testTimeout: 30_000,
  // `.js` first: an installed package that also ships its sources must not be loaded from them.
  moduleFileExtensions: ['js', 'mjs', 'cjs', 'ts', 'json', 'node'],
  extensionsToTreatAsEsm: ['.ts'],
  moduleNameMapper: {
    // Relative imports carry the extension of the file that the build emits.
    '^(\\.{1,2}/.*)\\.js$': '$1',
    // One copy of the library in a test, also where a sample imports it by its name.
    '^nestjs-distributed-lock$': '<rootDir>/lib/index.ts',
    '^nestjs-distributed-lock/(fencing|opentelemetry|terminus|testing|transaction)$': '<rootDir>/lib/$1/index.ts',
    '^nestjs-distributed-lock/([^/.]+)$': '<rootDir>/lib/stores/$1/index.ts',
  },
  transform: {
    '\\.ts$': [
      '@swc/jest',
      {
        jsc: {
          target: 'es2022',
          keepClassNames: true,
          parser: { syntax: 'typescript', decorators: true },
          transform: { legacyDecorator: true, decoratorMetadata: true, useDefineForClassFields: true },
        },
        module: { type: 'es6' },
      },
    ],
  },
};
