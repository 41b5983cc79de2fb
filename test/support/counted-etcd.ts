import { setTimeout as sleep } from 'node:timers/promises';
import type { EtcdCallOptions, EtcdClient, EtcdStream, EtcdTxnReply } from '../../lib/stores/etcd/etcd.client.js';

/** A client that counts what it is asked, and whose requests may get lost on their way. */
export class CountedEtcd implements EtcdClient {
  reads = 0;
  writes = 0;
  watchesCreated = 0;
  watchesCancelled = 0;
  streams = 0;
  readonly #late: object[] = [];
  #holdBack = 0;

  constructor(private readonly client: EtcdClient) {}

  readonly kv: EtcdClient['kv'] = {
    txn: (request, options) => {
      const { success } = request as { success: object[] };
      if (success.every((operation) => 'request_range' in operation)) this.reads += 1;
      else {
        this.writes += 1;
        if (this.#holdBack > 0) return this.#lose(request, options);
      }
      return this.client.kv.txn(request, options);
    },
    deleteRange: (request, options) => {
      this.writes += 1;
      if (this.#holdBack > 0) return this.#lose(request, options);
      return this.client.kv.deleteRange(request, options);
    },
  };

  get leaseClient(): EtcdClient['leaseClient'] {
    return this.client.leaseClient;
  }

  readonly watchClient: EtcdClient['watchClient'] = {
    watch: async (options?: EtcdCallOptions) => {
      const stream = await this.client.watchClient.watch(options);
      this.streams += 1;
      return this.#counted(stream);
    },
  };

  /**
   * The next `count` writes do not arrive in time, unless {@link pass} comes before them.
   *
   * @returns has the first of them arrive
   */
  holdBack(count = 1): () => Promise<EtcdTxnReply> {
    this.#holdBack = count;
    this.#late.length = 0;
    return () => {
      this.pass();
      return this.client.kv.txn(this.#late[0]!);
    };
  }

  pass(): void {
    this.#holdBack = 0;
  }

  async #lose(request: object, options?: EtcdCallOptions): Promise<never> {
    this.#holdBack -= 1;
    this.#late.push(request);
    await sleep((options?.deadline ?? 0) - Date.now());
    throw new Error('4 DEADLINE_EXCEEDED: Deadline exceeded');
  }

  reset(): void {
    this.reads = this.writes = this.watchesCreated = this.watchesCancelled = this.streams = 0;
  }

  close(): void {
    this.client.close();
  }

  #counted<T>(stream: EtcdStream<T>): EtcdStream<T> {
    const write = stream.write.bind(stream);
    stream.write = (request) => {
      if ('create_request' in request) this.watchesCreated += 1;
      if ('cancel_request' in request) this.watchesCancelled += 1;
      return write(request);
    };
    return stream;
  }
}
