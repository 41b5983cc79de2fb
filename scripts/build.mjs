import { build } from './support/build.mjs';
import { ensureDependencies } from './support/ensure.mjs';

await ensureDependencies();
process.exitCode = await build();
