import { hostname } from 'node:os';
import { systemClock } from '../../contract/index.js';
import { driverOf } from './driver-of.js';
import { RedisConnection } from './redis.connection.js';
import type { RedisDriver } from './redis.driver.js';
import { RedisKeys } from './redis.keys.js';
import { RedisLocks } from './redis.locks.js';
import type { RedisSettings } from './redis.options.js';
import { ownClient } from './redis.own-client.js';
import { probe } from './redis.probe.js';
import { WakeUps } from './redis.wake-ups.js';
import { warningsOf } from './redis.warnings.js';

// A queue outlives this many polls that did not come.
const POLLS_UNTIL_FORGOTTEN = 5;

/** Everything that is there from a successful open() to close(). */
export class RedisSession {
  readonly locks: RedisLocks;
  readonly wakeUps: WakeUps;
  /** What was found that locks may be lost by. */
  warnings: readonly string[] = [];

  private constructor(
    private readonly driver: RedisDriver,
    readonly connection: RedisConnection,
    private readonly settings: RedisSettings,
    private readonly owned: boolean,
    private readonly keys: RedisKeys,
  ) {
    this.wakeUps = new WakeUps(driver.subscriber(), (key, owner) => {
      // Nobody waits for it any more. Unless this arrives, it runs out by itself.
      this.locks.decline(key, owner).catch(() => undefined);
    });
    this.locks = new RedisLocks(connection, keys, {
      channelId: this.wakeUps.channelId,
      claimTtl: settings.claimTtl,
      queueTtl: POLLS_UNTIL_FORGOTTEN * settings.pollInterval,
      counted: !driver.clustered,
    });
  }

  /** Connects, subscribes and tries everything out; leaves nothing behind when one of these fails. */
  static async open(settings: RedisSettings): Promise<RedisSession> {
    const { source, connectTimeout, prefix, waitReplicas } = settings;
    const deadline = systemClock.now() + connectTimeout;
    const { driver, owned } =
      'client' in source
        ? driverOf(source.client, waitReplicas !== undefined)
        : { ...driverOf(await ownClient({ ...settings, ...source }), false), owned: true };
    const connection = new RedisConnection(driver, settings);
    let session: RedisSession | undefined;
    try {
      await connection.connect(connectTimeout);
      const keys = new RedisKeys(prefix, driver);
      session = new RedisSession(driver, connection, settings, owned, keys);
      await session.#tryOut(Math.max(1, deadline - systemClock.now()));
      return session;
    } catch (error) {
      session?.wakeUps.close(error);
      if (owned) driver.destroy();
      throw error;
    }
  }

  async #tryOut(remaining: number): Promise<void> {
    const { connection, keys, settings } = this;
    await this.wakeUps.subscribe(keys.wake, remaining, connection.address);
    await probe(this.locks, this.wakeUps, `${hostname()}:${process.pid}`);
    // Replicas that confirm refuse what an old master grants.
    const warning = settings.waitReplicas ? undefined : this.driver.warning;
    const found = await warningsOf(connection, keys.lock('probe'), settings);
    this.warnings = warning === undefined ? found : [warning, ...found];
  }

  async close(reason: unknown): Promise<void> {
    this.wakeUps.close(reason);
    this.connection.close();
    if (!this.owned) return;
    if (this.driver.ready) {
      await new Promise<void>((resolve) => {
        const timer = systemClock.after(this.settings.commandTimeout, resolve);
        const done = () => {
          timer.cancel();
          resolve();
        };
        this.driver.quit().then(done, done);
      });
    }
    if (!this.driver.ended) this.driver.destroy();
  }
}
