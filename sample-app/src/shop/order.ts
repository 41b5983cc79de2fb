export interface Order {
  /** Made by the buyer, who sends it again with every repeated request. */
  readonly purchaseId: string;
  readonly item: string;
  /** The instance that sold it. */
  readonly soldBy: string;
}
