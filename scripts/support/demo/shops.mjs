import { fork } from 'node:child_process';
import { once } from 'node:events';
import { setTimeout } from 'node:timers/promises';
import { onEnd } from '../cleanup.mjs';
import { sampleApp } from '../sample-app.mjs';

const START_LIMIT = 20_000;
const STOP_LIMIT = 5_000;

/** One process of the sample app. */
class Shop {
  #child;

  constructor(name, env) {
    this.name = name;
    this.#child = fork(sampleApp, [], {
      env: { ...process.env, SHOP_NAME: name, PORT: '0', ...env },
      // The demo's stdout is for its result.
      stdio: ['ignore', 2, 2, 'ipc'],
    });
    this.exited = once(this.#child, 'exit');
    onEnd(() => this.kill());
  }

  /** Waits for a message that has `field`, and gives its value. */
  async tells(field, limit) {
    const deadline = AbortSignal.timeout(limit);
    const gone = this.exited.then(() => {
      throw new Error(`${this.name} ended before it told of "${field}"`);
    });
    const told = (async () => {
      for (;;) {
        const [message] = await once(this.#child, 'message', { signal: deadline });
        if (message?.[field] !== undefined) return message[field];
      }
    })();
    return Promise.race([told, gone]).catch((error) => {
      throw deadline.aborted ? new Error(`${this.name} did not tell of "${field}" within ${limit} ms`) : error;
    });
  }

  async start() {
    this.url = `http://127.0.0.1:${await this.tells('port', START_LIMIT)}`;
    return this;
  }

  async stop() {
    this.#child.kill('SIGTERM');
    await Promise.race([this.exited, setTimeout(STOP_LIMIT, undefined, { ref: false })]);
    await this.kill();
  }

  async kill() {
    this.#child.kill('SIGKILL');
    await this.exited;
  }
}

/** Starts instances of the sample app. `envOf` may tell one of them more than the others. */
export function startShops(count, env, envOf = () => ({})) {
  const shops = Array.from({ length: count }, (_, index) => new Shop(`shop-${index + 1}`, { ...env, ...envOf(index) }));
  return Promise.all(shops.map((shop) => shop.start()));
}
