type Command = (...args: never[]) => Promise<unknown>;

interface Call {
  readonly id: number;
  readonly command: string;
  readonly args: readonly unknown[];
}

/**
 * The worker's side of a WorkerProcess: does what its parent calls for, and ends with it.
 *
 * @param ready what the parent is told now, since the worker is there
 */
export function answerCalls(commands: Readonly<Record<string, Command>>, ready?: unknown): void {
  process.on('message', ({ id, command, args }: Call) => {
    const run = commands[command] as (...values: readonly unknown[]) => Promise<unknown>;
    run(...args).then(
      (value) => process.send?.({ id, value }),
      (error: unknown) => process.send?.({ id, error: error instanceof Error ? error.stack : String(error) }),
    );
  });
  process.on('disconnect', () => process.exit(0));
  process.send?.({ id: 0, value: ready });
}
