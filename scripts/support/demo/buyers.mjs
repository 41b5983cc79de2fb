import { randomUUID } from 'node:crypto';

const ANSWER_LIMIT = 30_000;
const MOST_TRIES = 6;
const OUTCOMES = { 201: 'sold', 409: 'refused' };

export class Buyer {
  /** Made once: however often the buyer asks, it is one purchase. */
  purchaseId = randomUUID();
  tries = 0;

  constructor(index) {
    this.index = index;
  }

  /** Posts, and asks the next instance when there is no answer. */
  async buy(shops, path) {
    const start = performance.now();
    do {
      this.shop = shops[(this.index + this.tries) % shops.length];
      this.tries += 1;
      await this.#post(path);
    } while (this.outcome === 'no answer' && this.tries < MOST_TRIES);
    this.wait = performance.now() - start;
  }

  /** Sends the same purchase once more. */
  async repeat(shop, path) {
    return post(shop, path, this.purchaseId);
  }

  async #post(path) {
    try {
      const { status, order } = await post(this.shop, path, this.purchaseId);
      this.order = order;
      this.outcome = OUTCOMES[status] ?? `status ${status}`;
    } catch {
      this.outcome = 'no answer';
    }
  }
}

async function post(shop, path, purchaseId) {
  const response = await fetch(shop.url + path, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ purchaseId }),
    signal: AbortSignal.timeout(ANSWER_LIMIT),
  });
  return { status: response.status, order: await response.json() };
}
