/** Why a node gave no answer. */
export class NodeFailure extends Error {
  constructor(
    /** One of our own errors. */
    override readonly cause: Error,
    /** Whether the request may have been carried out all the same. */
    readonly sent: boolean,
  ) {
    super(cause.message);
    this.name = 'NodeFailure';
  }

  /** Whether trying again cannot help until somebody changes the configuration. */
  get permanent(): boolean {
    return (this.cause as { retryable?: boolean }).retryable === false;
  }
}
