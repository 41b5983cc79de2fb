import { hostname } from 'node:os';
import { systemClock } from '../../contract/index.js';
import { isIoredis, type RedisClient } from './redis.client.js';
import { IoredisDriver } from './ioredis.driver.js';
import { NodeRedisDriver } from './node-redis.driver.js';
import { RedisConnection } from './redis.connection.js';
import type { RedisDriver } from './redis.driver.js';
import { RedisKeys } from './redis.keys.js';
import { RedisLocks } from './redis.locks.js';
import type { RedisSettings } from './redis.options.js';
import { ownClient } from './redis.own-client.js';
import { probe } from './redis.probe.js';
import { WakeUps } from './redis.wake-ups.js';

// A queue outlives this many polls that did not come.
const POLLS_UNTIL_FORGOTTEN = 5;

/** Everything that is there from a successful open() to close(). */
export class RedisSession {
  readonly locks: RedisLocks;
  readonly wakeUps: WakeUps;

  private constructor(
    private readonly driver: RedisDriver,
    private readonly connection: RedisConnection,
    private readonly settings: RedisSettings,
    private readonly owned: boolean,
  ) {
    const keys = new RedisKeys(settings.prefix);
    this.wakeUps = new WakeUps(driver.subscriber(), (key, owner) => {
      // Nobody waits for it any more. Unless this arrives, it runs out by itself.
      this.locks.decline(key, owner).catch(() => undefined);
    });
    this.locks = new RedisLocks(connection, keys, {
      channelId: this.wakeUps.channelId,
      claimTtl: settings.claimTtl,
      queueTtl: POLLS_UNTIL_FORGOTTEN * settings.pollInterval,
    });
  }

  /** Connects, subscribes and tries everything out; leaves nothing behind when one of these fails. */
  static async open(settings: RedisSettings): Promise<RedisSession> {
    const { source, connectTimeout, commandTimeout, prefix } = settings;
    const deadline = systemClock.now() + connectTimeout;
    const owned = !('client' in source);
    const driver = driverOf(owned ? await ownClient({ ...source, connectTimeout, commandTimeout }) : source.client);
    const connection = new RedisConnection(driver, commandTimeout);
    let session: RedisSession | undefined;
    try {
      await connection.connect(connectTimeout);
      session = new RedisSession(driver, connection, settings, owned);
      const remaining = Math.max(1, deadline - systemClock.now());
      await session.wakeUps.subscribe(new RedisKeys(prefix).wake, remaining, driver.address);
      await probe(session.locks, session.wakeUps, `${hostname()}:${process.pid}`);
      return session;
    } catch (error) {
      session?.wakeUps.close(error);
      if (owned) driver.destroy();
      throw error;
    }
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

function driverOf(client: RedisClient): RedisDriver {
  return isIoredis(client) ? new IoredisDriver(client) : new NodeRedisDriver(client);
}
