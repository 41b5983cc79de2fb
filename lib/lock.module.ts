import { Inject, Module, type BeforeApplicationShutdown, type OnApplicationShutdown } from '@nestjs/common';
import { DiscoveryModule } from '@nestjs/core';
import { LockEngine } from './engine/lock.engine.js';
import { LOCK_HANDLING } from './interceptors/lock.handling.js';
import { LockInterceptor } from './interceptors/lock.interceptor.js';
import { LockExplorer } from './lock.explorer.js';
import { resolveModuleOptions, type LockModuleOptions, type ResolvedModuleOptions } from './lock-module.options.js';
import { ConfigurableModuleClass, MODULE_OPTIONS_TOKEN } from './lock.module-definition.js';
import { LockService } from './lock.service.js';
import { logLockEvents } from './observability/lock.logger.js';

const RESOLVED_OPTIONS = Symbol('nestjs-distributed-lock:options');

/**
 * Gives an application its locks: `LockModule.forRoot({ store })`, once, in the root module. Opens the stores before
 * anything that uses them starts, and closes them when the application shuts down, after the bodies that hold locks
 * have had `shutdownTimeout` to finish.
 */
@Module({
  imports: [DiscoveryModule],
  providers: [
    {
      provide: RESOLVED_OPTIONS,
      inject: [MODULE_OPTIONS_TOKEN],
      useFactory: (options: LockModuleOptions) => resolveModuleOptions(options),
    },
    {
      provide: LockEngine,
      inject: [RESOLVED_OPTIONS],
      useFactory: async ({ stores, instance, handOff, lazyConnect, clock, telemetry }: ResolvedModuleOptions) => {
        const engine = new LockEngine({ stores, label: instance, handOff, clock });
        logLockEvents(engine.events);
        await telemetry?.attach(engine);
        if (!lazyConnect) await engine.open();
        return engine;
      },
    },
    {
      provide: LockService,
      inject: [LockEngine, RESOLVED_OPTIONS],
      useFactory: (engine: LockEngine, { defaults }: ResolvedModuleOptions) => new LockService(engine, defaults),
    },
    {
      provide: LOCK_HANDLING,
      inject: [RESOLVED_OPTIONS],
      useFactory: ({ handling }: ResolvedModuleOptions) => handling,
    },
    LockInterceptor,
    LockExplorer,
  ],
  exports: [LockService, LOCK_HANDLING, LockInterceptor],
})
export class LockModule extends ConfigurableModuleClass implements BeforeApplicationShutdown, OnApplicationShutdown {
  constructor(
    @Inject(LockEngine) private readonly engine: LockEngine,
    @Inject(RESOLVED_OPTIONS) private readonly options: ResolvedModuleOptions,
  ) {
    super();
  }

  // While the application still serves the requests that hold locks.
  beforeApplicationShutdown(): Promise<void> {
    return this.engine.drain(this.options.shutdownTimeout);
  }

  onApplicationShutdown(): Promise<void> {
    return this.engine.close(0);
  }
}
