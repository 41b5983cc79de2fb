import type { StoreHold } from '../contract/index.js';
import type { Hold } from './hold.js';

/** Where a hold goes when its holder is done, and who must know when it is lost. */
export interface HoldKeeper {
  giveBack(hold: Hold): boolean | Promise<boolean>;
  onLost(hold: Hold): void;
}

/** What a hold stands on: the store's hold, and how often it has changed hands within the process. */
export interface Grant {
  readonly storeHold: StoreHold;
  readonly handOffs: number;
  /** When the store granted it. */
  readonly since: number;
}
