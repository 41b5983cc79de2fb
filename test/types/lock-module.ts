import {
  isLockError,
  LockModule,
  LockService,
  type Lock,
  type LockModuleOptions,
  type LockOptionsFactory,
} from 'nestjs-distributed-lock';
import { memoryStore } from 'nestjs-distributed-lock/memory';
import { openTelemetry } from 'nestjs-distributed-lock/opentelemetry';

class Config {
  readonly ttl = '10s';
}

class LockConfig implements LockOptionsFactory {
  createLockOptions(): LockModuleOptions {
    return { store: memoryStore() };
  }
}

export const modules = [
  LockModule.forRoot({ store: memoryStore(), ttl: '30s', wait: 0, isGlobal: false }),
  LockModule.forRoot({ stores: { default: memoryStore(), jobs: memoryStore() }, defaultStore: 'jobs' }),
  LockModule.forRootAsync({ useFactory: () => ({ store: memoryStore() }) }),
  LockModule.forRootAsync({
    imports: [],
    inject: [Config],
    useFactory: async (config: Config) => ({ store: memoryStore(), ttl: config.ttl }),
    isGlobal: true,
  }),
  LockModule.forRootAsync({ useClass: LockConfig }),
  LockModule.forRootAsync({ useExisting: LockConfig }),

  LockModule.forRoot({ store: memoryStore(), telemetry: openTelemetry({ spans: false }) }),

  // @ts-expect-error a template belongs to one lock
  LockModule.forRoot({ store: memoryStore(), template: 'order:<id>' }),
  // @ts-expect-error telemetry is what openTelemetry() returns
  LockModule.forRoot({ store: memoryStore(), telemetry: openTelemetry }),
  // @ts-expect-error a store is no text
  LockModule.forRoot({ store: 'redis' }),
  // @ts-expect-error there is no such option
  LockModule.forRoot({ store: memoryStore(), timeout: 5 }),
  // @ts-expect-error the factory makes no options
  LockModule.forRootAsync({ useFactory: () => ({ ttl: {} }) }),
  // @ts-expect-error the class makes no options
  LockModule.forRootAsync({ useClass: Config }),
];

export async function service(locks: LockService): Promise<unknown[]> {
  const result: number = await locks.withLock('a', async () => 1);
  const skipped: number | undefined = await locks.withLock('a', { onContended: 'skip' }, async () => 1);
  const instead: number | string = await locks.withLock('a', { onContended: () => 'busy' }, async () => 1);
  // @ts-expect-error a skipped body answers undefined
  const certain: number = await locks.withLock('a', { onContended: 'skip' }, async () => 1);
  const inferred: number | string = await locks.withLock(
    'a',
    { onContended: ({ keys }) => keys.join() },
    async () => 1,
  );
  const waited = (error: unknown): number => (isLockError(error, 'LOCK_CONTENDED') ? error.waited : 0);
  const lock: Lock | null = await locks.tryAcquire('a');
  const token: bigint | undefined = lock?.fencingToken;
  await using held = await locks.acquire('a', { ttl: '5s' });
  // @ts-expect-error what a body does when it is contended is nothing for a lock without a body
  await locks.acquire('a', { onContended: 'skip' });
  // @ts-expect-error a number is no key
  await locks.acquire(1);
  return [result, skipped, instead, inferred, waited, certain, token, held];
}
