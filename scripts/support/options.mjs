import { parseArgs } from 'node:util';

/** Reads a script's options; prints what there is, and ends, when asked for help or given what there is not. */
export function readOptions(usage, options, check = () => undefined) {
  let problem;
  try {
    const { values } = parseArgs({ options: { ...options, help: { type: 'boolean', short: 'h' } } });
    if (values.help) {
      console.log(usage);
      process.exit(0);
    }
    problem = check(values);
    if (problem === undefined) return values;
  } catch (error) {
    // Node's own message goes on about how to pass a positional argument.
    problem = error.message.split('. To specify')[0];
  }
  console.error(`${problem}\n\n${usage}`);
  process.exit(2);
}
