import { spawn } from 'node:child_process';

/** A command that ended with an error, with all that it said. */
export class CommandFailed extends Error {
  constructor(command, args, cwd, output) {
    super(`failed: ${[command, ...args].map(quoted).join(' ')}\n    in: ${cwd}\n${output.trim()}`);
    this.output = output;
  }
}

/**
 * Runs a command without showing what it prints: of cells that run side by side nobody could read it.
 *
 * @returns what it printed to stdout
 * @throws CommandFailed with the command and its output
 */
export function output(command, args, { cwd, env } = {}) {
  return new Promise((resolve, reject) => {
    const child = spawn(command, args, { cwd, env: { ...process.env, ...env }, stdio: ['ignore', 'pipe', 'pipe'] });
    let stdout = '';
    let all = '';
    child.stdout.setEncoding('utf8').on('data', (text) => {
      stdout += text;
      all += text;
    });
    child.stderr.setEncoding('utf8').on('data', (text) => (all += text));
    child.once('error', reject);
    child.once('close', (code, signal) => {
      if (code === 0) resolve(stdout);
      else reject(new CommandFailed(command, args, cwd, `${all}\n(${signal ?? `exit code ${code}`})`));
    });
  });
}

/** On Windows npm is a script that only a shell can start; npm itself tells where its own JavaScript is. */
export function npm(args, options) {
  const cli = process.env.npm_execpath;
  return cli ? output(process.execPath, [cli, ...args], options) : output('npm', args, options);
}

const quoted = (word) => (/^[\w@%+=:,./^-]+$/.test(word) ? word : `'${word.replaceAll("'", String.raw`'\''`)}'`);
