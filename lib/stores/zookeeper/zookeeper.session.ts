import { LiveSession } from '../shared/queue/live.session.js';
import type { EntryHold } from '../shared/queue/entry.hold.js';
import type { Link } from './zookeeper.link.js';

/**
 * A session for as long as it is certain to be alive. The server may keep it for longer: what follows is another session object then, with
 * the same id.
 */
export class ZookeeperSession extends LiveSession {
  /** As the server names it, in hexadecimal digits: 16, as in an entry's `ephemeralOwner`. */
  readonly id: string;

  constructor(
    readonly link: Link,
    private readonly onOver: (holds: readonly EntryHold[]) => void,
  ) {
    super();
    this.id = link.sessionId;
  }

  override end(cause: unknown): void {
    if (this.ended) return;
    const holds = [...this.holds];
    super.end(cause);
    this.onOver(holds);
  }
}
