import { Inject, Injectable, type OnModuleInit } from '@nestjs/common';
import { DiscoveryService, MetadataScanner } from '@nestjs/core';
import { locksOf } from './decorators/lock.metadata.js';
import { LockEngine } from './engine/lock.engine.js';
import { requireGuarantee } from './lock.guarantee.js';
import { LockService } from './lock.service.js';

/** Looks at every locked method at start, for what could not be known when its class was defined. */
@Injectable()
export class LockExplorer implements OnModuleInit {
  constructor(
    @Inject(DiscoveryService) private readonly discovery: DiscoveryService,
    @Inject(MetadataScanner) private readonly scanner: MetadataScanner,
    @Inject(LockEngine) private readonly engine: LockEngine,
    @Inject(LockService) private readonly locks: LockService,
  ) {}

  /** @throws LockOptionsError when a method names a store that the module does not have, or asks more of it than it can give */
  onModuleInit(): void {
    for (const { metatype } of [...this.discovery.getProviders(), ...this.discovery.getControllers()]) {
      const prototype = typeof metatype === 'function' ? (metatype.prototype as object | undefined) : undefined;
      if (prototype) this.#check(prototype);
    }
  }

  #check(prototype: object): void {
    for (const name of this.scanner.getAllMethodNames(prototype)) {
      const method = (prototype as Record<string, unknown>)[name];
      if (typeof method !== 'function') continue;
      const defaults = this.locks.options();
      for (const { options, place } of locksOf(method)) {
        const { store = defaults.store, guarantee = defaults.guarantee, enabled = defaults.enabled } = options;
        const backend = this.engine.backend(store, place);
        if (enabled) requireGuarantee(backend, guarantee, place);
      }
    }
  }
}
