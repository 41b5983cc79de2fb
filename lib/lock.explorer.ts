import { Inject, Injectable, Logger, type OnModuleInit } from '@nestjs/common';
import { DiscoveryService, MetadataScanner } from '@nestjs/core';
import { locksOf } from './decorators/lock.metadata.js';
import { LockEngine } from './engine/lock.engine.js';
import { requireGuarantee } from './lock.guarantee.js';
import { LockService } from './lock.service.js';
import { resolveOptions } from './options/index.js';

/** Looks at every locked method at start, for what could not be known when its class was defined. */
@Injectable()
export class LockExplorer implements OnModuleInit {
  constructor(
    @Inject(DiscoveryService) private readonly discovery: DiscoveryService,
    @Inject(MetadataScanner) private readonly scanner: MetadataScanner,
    @Inject(LockEngine) private readonly engine: LockEngine,
    @Inject(LockService) private readonly locks: LockService,
  ) {}

  /**
   * @throws LockOptionsError when a method names a store that the module does not have, asks more of it than it can give, or has
   *   options that contradict the module's
   */
  async onModuleInit(): Promise<void> {
    try {
      for (const { metatype } of [...this.discovery.getProviders(), ...this.discovery.getControllers()]) {
        const prototype = typeof metatype === 'function' ? (metatype.prototype as object | undefined) : undefined;
        if (prototype) this.#check(prototype);
      }
    } catch (error) {
      // Nest closes nothing of an application that did not start: the stores' connections would keep the process alive.
      await this.engine.close(0);
      throw error;
    }
    this.#lookForOthers();
  }

  /** Meant where each is seen by some modules only, a mistake more often. */
  #lookForOthers(): void {
    const engines = this.discovery.getProviders().filter(({ token }) => token === LockEngine);
    // Each of them looks, one tells.
    if (engines.length < 2 || engines[0]?.instance !== this.engine) return;
    new Logger('LockModule').warn(
      `This application configures ${engines.length} LockModules, each with a LockService of its own: whoever locks by one is not ` +
        'kept out by another, unless their stores are the same backend with the same prefix. For several stores in one module: ' +
        'LockModule.forRoot({ stores: { default: …, other: … } }).',
    );
  }

  #check(prototype: object): void {
    for (const name of this.scanner.getAllMethodNames(prototype)) {
      const method = (prototype as Record<string, unknown>)[name];
      if (typeof method !== 'function') continue;
      const defaults = this.locks.options();
      for (const { options, place } of locksOf(method)) {
        const { store = defaults.store, guarantee, enabled } = resolveOptions(defaults, options, place);
        const backend = this.engine.backend(store, place);
        if (enabled) requireGuarantee(backend, guarantee, place);
      }
    }
  }
}
