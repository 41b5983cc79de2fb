import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { CommandFailed, output } from './command.mjs';
import { install } from './install.mjs';

// The packages that the package `node` of the registry picks from. Named directly, no install script has to run.
const os = process.platform === 'win32' ? 'win' : process.platform;
const prefix = os === 'darwin' && process.arch === 'arm64' ? 'node-bin' : 'node';
const binaryPackage = [prefix, os, process.arch].join('-');

/**
 * Installs the newest Node of a major version.
 *
 * @returns its program and what its column is called; where there is none for this machine, the running Node
 */
export async function installNode(folder, major) {
  try {
    await install(folder, [`node-binary@npm:${binaryPackage}@${major}`]);
  } catch (error) {
    if (!(error instanceof CommandFailed && /\b(E404|ETARGET|EBADPLATFORM)\b/.test(error.output))) throw error;
    return running(major);
  }
  const bin = join(folder, 'node_modules/node-binary/bin');
  const path = join(bin, existsSync(join(bin, 'node.exe')) ? 'node.exe' : 'node');
  try {
    return { path, title: `Node ${(await output(path, ['-p', 'process.versions.node'])).trim()}` };
  } catch {
    // It is there, but made for another C library.
    return running(major);
  }
}

const running = (major) => ({
  path: process.execPath,
  title: `no Node ${major} for ${os}-${process.arch}: ${process.versions.node}`,
});
