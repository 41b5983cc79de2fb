import { writeSync } from 'node:fs';

/** A line on the output, without the place that Jest's console adds. */
export function say(line: string): void {
  writeSync(1, `${line}\n`);
}
