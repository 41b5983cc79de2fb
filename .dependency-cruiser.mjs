import { existsSync, readdirSync } from 'node:fs';

/** The client packages that a store may import; a store that is not named here may import none. */
const clients = {
  redis: ['ioredis', 'redis', 'iovalkey'],
  sqlite: ['better-sqlite3'],
  postgres: ['pg'],
  mysql: ['mysql2'],
  etcd: ['etcd3', '@grpc/grpc-js'],
  zookeeper: ['node-zookeeper-client'],
};

/** Further packages of a store, which come with ours. */
const helpers = {
  redis: ['cluster-key-slot'],
};

/** What a store may import of another: the ways to reach a server that both use. */
const borrowed = {
  redlock:
    '^lib/stores/redis/(redis\\.(client|driver|errors|own-client|readiness|url)|(ioredis|node-redis)\\.driver|scripts/script)\\.ts$',
};

const nest = '(^|node_modules/)@nestjs/';
const packages = (names) => `(^|node_modules/)(@types/)?(${names.join('|')})(/|$)`;
// A layer is a folder, or one file while it is small.
const layers = (...names) => `^lib/(${names.join('|')})(/|\\.ts$)`;

const stores = existsSync('lib/stores')
  ? readdirSync('lib/stores', { withFileTypes: true }).filter((entry) => entry.isDirectory())
  : [];

export default {
  forbidden: [
    {
      name: 'engine-knows-no-nest-and-no-backend',
      severity: 'error',
      from: { path: layers('engine') },
      to: { pathNot: layers('contract', 'errors', 'options', 'engine'), dependencyTypesNot: ['core'] },
    },
    ...stores.map(({ name }) => ({
      name: `store-${name}-knows-the-contract-and-its-client`,
      severity: 'error',
      from: { path: `^lib/stores/${name}/` },
      to: {
        pathNot: [
          layers('contract', 'errors', 'options'),
          `^lib/stores/(shared|sql|${name})/`,
          ...[clients, helpers].flatMap((by) => (by[name] ? [packages(by[name])] : [])),
          ...(borrowed[name] ? [borrowed[name]] : []),
        ],
        dependencyTypesNot: ['core'],
      },
    })),
    ...Object.entries(clients).map(([name, names]) => ({
      name: `only-store-${name}-knows-its-client`,
      comment: 'Nobody may need a client that they do not use, not even to type-check.',
      severity: 'error',
      from: { path: '^lib/', pathNot: `^lib/stores/${name}/` },
      to: { path: packages(names) },
    })),
    {
      name: 'transaction-locks-know-no-nest-and-no-engine',
      severity: 'error',
      from: { path: layers('transaction') },
      to: {
        pathNot: [layers('contract', 'errors', 'options', 'keys', 'transaction'), '^lib/stores/sql/'],
        dependencyTypesNot: ['core'],
      },
    },
    {
      name: 'foundations-know-nothing-above-them',
      severity: 'error',
      from: { path: layers('contract', 'errors', 'keys', 'options') },
      to: { path: [nest, layers('engine', 'stores')] },
    },
    {
      name: 'nobody-imports-observability',
      comment: "It listens to the engine's events; only the module wires it up.",
      severity: 'error',
      from: {
        path: '^lib/',
        pathNot: [
          layers('observability', 'opentelemetry', 'terminus'),
          '^lib/lock\\.module(-definition)?\\.ts$',
          '^lib/index\\.ts$',
        ],
      },
      to: { path: layers('observability') },
    },
    {
      name: 'nobody-imports-integrations',
      comment: 'Each has a peer that only those install who use it.',
      severity: 'error',
      from: { path: '^lib/', pathNot: layers('opentelemetry', 'terminus') },
      to: { path: [layers('opentelemetry', 'terminus'), packages(['@opentelemetry', '@nestjs/terminus'])] },
    },
    {
      name: 'opentelemetry-listens-to-the-engine',
      severity: 'error',
      from: { path: layers('opentelemetry') },
      to: {
        pathNot: [
          layers('errors', 'observability', 'opentelemetry', 'options'),
          '^lib/engine/lock\\.(telemetry|tracer|events)\\.ts$',
          packages(['@opentelemetry/api']),
        ],
        dependencyTypesNot: ['core'],
      },
    },
    {
      name: 'nest-only-at-the-surface',
      severity: 'error',
      from: {
        path: '^lib/',
        pathNot: ['^lib/[^/]+\\.ts$', layers('decorators', 'interceptors', 'observability', 'terminus', 'module')],
      },
      to: { path: nest },
    },
    {
      name: 'no-circular',
      comment: 'Types may refer to one another: nothing of that is left at run time.',
      severity: 'error',
      from: {},
      to: { circular: true, viaOnly: { dependencyTypesNot: ['type-only'] } },
    },
    { name: 'no-unresolvable', severity: 'error', from: {}, to: { couldNotResolve: true } },
    {
      name: 'only-declared-packages',
      comment: 'A user does not have what is only installed for development.',
      severity: 'error',
      from: { path: '^lib/' },
      to: {
        dependencyTypes: ['npm-dev', 'npm-no-pkg', 'npm-unknown'],
        dependencyTypesNot: ['npm', 'npm-peer', 'npm-optional', 'type-only'],
      },
    },
  ],
  options: {
    doNotFollow: { path: 'node_modules' },
    // A type-only import crosses a layer too: it would end up in the declarations.
    tsPreCompilationDeps: true,
    tsConfig: { fileName: 'tsconfig.json' },
    enhancedResolveOptions: {
      exportsFields: ['exports'],
      conditionNames: ['import', 'require', 'node', 'default', 'types'],
    },
  },
};
