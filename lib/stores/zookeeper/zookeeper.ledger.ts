import type { ZookeeperEntry } from './zookeeper.entry.js';

/** What this process knows of its entries. All of it goes with the session. */
export class Ledger {
  /** By owner, from its creation until it is known to be gone. */
  readonly entries = new Map<string, ZookeeperEntry>();
  /** Owners whose create is under way. */
  readonly appending = new Set<string>();
  /** Owners who may have an entry that nobody knows of, because a create had no answer. */
  readonly unsure = new Set<string>();
  /** Owners whose entry is still to be removed, with their keys. */
  readonly owed = new Map<string, string>();

  /** Whether an owner may have left something. */
  mayStand(owner: string): boolean {
    return this.entries.has(owner) || this.unsure.has(owner) || this.owed.has(owner);
  }

  /** An entry has gone, as far as the server that was asked knows: the next one who deals with its owner asks the leader. */
  doubt(entry: ZookeeperEntry): void {
    if (this.entries.get(entry.owner) !== entry) return;
    this.entries.delete(entry.owner);
    this.unsure.add(entry.owner);
  }

  /** Whether an entry of this process's session is nobody's. */
  isStray(owner: string, id: string): boolean {
    const known = this.entries.get(owner);
    return known ? known.id !== id : !this.appending.has(owner) && !this.unsure.has(owner);
  }

  forget(owner: string): void {
    this.entries.delete(owner);
    this.unsure.delete(owner);
    this.owed.delete(owner);
  }

  clear(): void {
    this.entries.clear();
    this.unsure.clear();
    this.owed.clear();
  }
}
