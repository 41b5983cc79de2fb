// Usage: npm run test:unit [-- <jest arguments>]
import { ensureDependencies } from './support/ensure.mjs';
import { conclude, jest } from './support/jest.mjs';

await ensureDependencies();
conclude([await jest(['unit'], process.argv.slice(2))]);
