import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { root } from '../run.mjs';
import { writeApiReference } from './api-reference.mjs';

export const apiFolder = join(root, 'docs/api');

/**
 * Compares the API reference with what the sources give now.
 *
 * @returns an exit code
 */
export async function checkApiReference() {
  const temporary = mkdtempSync(join(tmpdir(), 'lock-api-'));
  try {
    const fresh = join(temporary, 'api');
    await writeApiReference(fresh, { quiet: true });
    const [is, shouldBe] = [pagesIn(apiFolder), pagesIn(fresh)];
    const stale = [...new Set([...is.keys(), ...shouldBe.keys()])].filter(
      (name) => is.get(name) !== shouldBe.get(name),
    );
    if (stale.length === 0) return 0;
    console.error(`Out of date in docs/api (npm run docs writes it): ${stale.join(', ')}`);
    return 1;
  } catch (error) {
    console.error(error.message);
    return 1;
  } finally {
    rmSync(temporary, { recursive: true, force: true });
  }
}

function pagesIn(folder) {
  try {
    return new Map(readdirSync(folder).map((name) => [name, readFileSync(join(folder, name), 'utf8')]));
  } catch (error) {
    if (error.code === 'ENOENT') return new Map();
    throw error;
  }
}
