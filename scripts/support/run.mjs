import { spawn } from 'node:child_process';
import { fileURLToPath } from 'node:url';

/** The repository's root, with a slash at its end. */
export const root = fileURLToPath(new URL('../../', import.meta.url));

/**
 * Runs a command in the repository with this process's own input and output.
 *
 * @returns its exit code; a command that a signal ended counts as 1
 */
export function run(command, args, { env, cwd = root } = {}) {
  return new Promise((resolve, reject) => {
    const child = spawn(command, args, { cwd, env: { ...process.env, ...env }, stdio: 'inherit' });
    child.once('error', reject);
    child.once('close', (code) => resolve(code ?? 1));
  });
}

/** Runs a JavaScript file of an installed package, the same on every system (no shell, no `.cmd`). */
export function runBin(file, args, options) {
  return run(process.execPath, [`node_modules/${file}`, ...args], options);
}

export const tsc = 'typescript/bin/tsc';

/** Ends the script with a message for the person who called it. */
export function fail(message) {
  console.error(message);
  process.exit(1);
}

export function headline(text) {
  console.log(`\n== ${text}`);
}
