import { Agent, get } from 'node:http';
import type { SeededRandom } from './seeded-random.js';

/** One request of a client that may lose patience. Times are ms. */
export interface StormRequest {
  readonly port: number;
  readonly path: string;
  /** When the client disconnects; `undefined`: it waits for its answer. */
  readonly leaves: number | undefined;
}

/** How many requests ended in which way: a status, or `left`. */
export type Outcomes = Readonly<Record<string, number>>;

const HOT = 3;

/** Requests for keys of which a few are hot, by clients of which two in five disconnect while they wait or are served. */
export function stormRequests(
  random: SeededRandom,
  count: number,
  ports: readonly number[],
  ids: readonly string[],
): StormRequest[] {
  return Array.from({ length: count }, () => {
    const id = random.pick(random.next() < 0.4 ? ids.slice(0, HOT) : ids);
    const time = Math.round(random.between(2, 25));
    const leaves = random.next() < 0.4 ? random.between(0, 150) : undefined;
    return { port: random.pick(ports), path: `/items/${id}/${time}`, leaves };
  });
}

/** Sends requests, so many at a time, over connections that are kept. */
export class Storm {
  readonly #agent = new Agent({ keepAlive: true, maxSockets: Infinity });

  async send(requests: readonly StormRequest[], atOnce: number): Promise<Outcomes> {
    const outcomes: Record<string, number> = {};
    const left = requests.values();
    const client = async (): Promise<void> => {
      for (const request of left) {
        const outcome = await this.#send(request);
        outcomes[outcome] = (outcomes[outcome] ?? 0) + 1;
      }
    };
    await Promise.all(Array.from({ length: atOnce }, client));
    return outcomes;
  }

  /** Closes the connections that were kept. */
  end(): void {
    this.#agent.destroy();
  }

  #send({ port, path, leaves }: StormRequest): Promise<string> {
    return new Promise((resolve, reject) => {
      const request = get({ agent: this.#agent, host: '127.0.0.1', port, path });
      let leaving = false;
      const patience =
        leaves === undefined
          ? undefined
          : setTimeout(() => {
              leaving = true;
              request.destroy();
              resolve('left');
            }, leaves);
      request.on('response', (response) => {
        response.on('error', () => undefined).resume();
        response.once('end', () => {
          clearTimeout(patience);
          resolve(String(response.statusCode));
        });
      });
      request.on('error', (error) => {
        clearTimeout(patience);
        if (!leaving) reject(error);
      });
    });
  }
}
