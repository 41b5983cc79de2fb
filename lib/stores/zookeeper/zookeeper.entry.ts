import type { Entry } from '../shared/queue/queue.dialect.js';

/** An entry of this process in a key's queue. */
export class ZookeeperEntry implements Entry {
  /** The number of the change that made it; read with its node. */
  fence = 0n;
  /** It is being removed: that it goes is no news. */
  leaving = false;
  /** What its watch rings. */
  ring: (() => void) | undefined;

  constructor(
    readonly parent: string,
    /** Its name below its parent: an owner token is used for one acquisition only. */
    readonly id: string,
    readonly owner: string,
    readonly sessionId: string,
  ) {}

  get path(): string {
    return `${this.parent}/${this.id}`;
  }
}
