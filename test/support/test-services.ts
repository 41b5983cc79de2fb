import { LockEngine } from '../../lib/engine/lock.engine.js';
import { LockService } from '../../lib/index.js';
import { resolveModuleOptions } from '../../lib/lock-module.options.js';
import { DEFAULT_LOCK_OPTIONS, type ResolvedLockOptions } from '../../lib/options/index.js';
import type { TestLocks } from '../../lib/testing/index.js';

/** Services as modules would make them that were given the options of some test locks. */
export class TestServices {
  readonly engines: LockEngine[] = [];

  start(locks: TestLocks, instance = 'app', defaults: Partial<ResolvedLockOptions> = {}): LockService {
    const { stores, handOff, clock } = resolveModuleOptions({ ...locks.options, instance });
    const engine = new LockEngine({ stores, handOff, clock, label: instance });
    this.engines.push(engine);
    return new LockService(engine, { ...DEFAULT_LOCK_OPTIONS, ...defaults, store: 'default' });
  }

  async close(): Promise<void> {
    await Promise.all(this.engines.splice(0).map((engine) => engine.close(0)));
  }
}
