import type { EtcdClient, EtcdKeepAliveReply, EtcdStream, EtcdTxnReply } from '../../lib/stores/etcd/etcd.client.js';

/** Answers as an etcd would in which nothing stands, as soon as `held` lets it. */
export class FakeEtcd implements EtcdClient {
  term = '2';
  /** What the answers to signs of life and to reads say; default: the same as `term`. */
  readTerm: string | undefined;
  ttl = 10;
  granted = 0;
  revoked = 0;
  signs = 0;
  reads = 0;
  /** Awaited before a sign of life, or a grant, is answered. */
  held: Promise<unknown> = Promise.resolve();
  /** Awaited before a transaction is answered. */
  heldTxn: Promise<unknown> = Promise.resolve();
  /** What names were removed, and whether the next removal finds what it is to remove. */
  readonly removed: string[] = [];
  removalTries = 1;
  removal: () => Promise<boolean> = () => Promise.resolve(false);
  /** What a sign of life, or ending a lease, fails with. */
  failure: Error | undefined;

  readonly kv: EtcdClient['kv'] = {
    txn: async () => {
      this.reads += 1;
      await this.heldTxn;
      return this.#empty();
    },
    deleteRange: async (request, options) => {
      // etcd3 asks for the deadline at each of its own tries.
      for (let tries = this.removalTries; tries > 0; tries -= 1) await Promise.resolve(options?.deadline);
      this.removed.push(String((request as { key: Buffer }).key));
      return { deleted: (await this.removal()) ? '1' : '0' };
    },
  };

  readonly leaseClient: EtcdClient['leaseClient'] = {
    leaseGrant: async () => {
      this.granted += 1;
      await this.held;
      return { TTL: String(this.ttl) };
    },
    leaseRevoke: async () => {
      if (this.failure) throw this.failure;
      this.revoked += 1;
    },
    leaseTimeToLive: async () => ({ TTL: String(this.ttl), keys: [] }),
    leaseKeepAlive: async () => this.#sign(),
  };

  readonly watchClient: EtcdClient['watchClient'] = {
    watch: () => Promise.reject(new Error('14 UNAVAILABLE: there are no watches here')),
  };

  close(): void {
    // Nothing is open.
  }

  #empty(): EtcdTxnReply {
    return { header: { revision: '7', raft_term: this.readTerm ?? this.term }, succeeded: true, responses: [] };
  }

  #sign(): EtcdStream<EtcdKeepAliveReply> {
    const listeners: Record<string, (value?: never) => void> = {};
    const answer = async (): Promise<void> => {
      const { term, failure } = this;
      await this.held;
      this.signs += 1;
      if (failure) listeners['error']?.(failure as never);
      else listeners['data']?.({ header: { revision: '7', raft_term: term }, TTL: String(this.ttl) } as never);
    };
    return {
      write: () => void answer(),
      end: () => undefined,
      cancel: () => undefined,
      on: (event: string, listener: (value: never) => void) => (listeners[event] = listener as never),
    };
  }
}
