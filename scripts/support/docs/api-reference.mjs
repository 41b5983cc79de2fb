import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { root } from '../run.mjs';

const { name: packageName, exports: subpaths } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'));

/** Its page is named after what is imported, as those of the subpaths are. */
const mainPage = packageName;

/**
 * Writes the reference of everything that can be imported, a page for each subpath and an index, in place of what is in `folder`.
 * What is written depends on the sources alone: no dates, no lines, no addresses.
 *
 * @param quiet whether to keep back what could be better about the comments
 */
export async function writeApiReference(folder, { quiet = false } = {}) {
  // Not at the top: the scripts are loaded before they install what they need.
  const { Application, Converter, makeRecursiveVisitor } = await import('typedoc');
  const pages = entryPoints();
  const sortUnions = makeRecursiveVisitor({ union: sortParts });
  const app = await Application.bootstrapWithPlugins({
    options: join(root, 'typedoc.json'),
    ...(quiet && { logLevel: 'Error' }),
    out: folder,
    basePath: root,
    entryPoints: pages.map(({ file }) => join(root, file)),
    pageTitleTemplates: { module: ({ rawName }) => importedAs(rawName) },
  });
  // Files are where it suits the library. Its users know the names that they import.
  app.converter.on(Converter.EVENT_RESOLVE_BEGIN, ({ project }) => {
    for (const { type } of Object.values(project.reflections)) type?.visit(sortUnions);
    for (const module of project.children) module.name = pages.find(({ file }) => isModuleOf(file, module.name)).page;
  });
  const project = await app.convert();
  // Why has been printed.
  if (project === undefined) throw new Error('The API reference cannot be made of these sources.');
  app.validate(project);

  rmSync(folder, { recursive: true, force: true });
  mkdirSync(folder, { recursive: true });
  let index;
  app.renderer.preRenderAsyncJobs.push(async () => {
    index = indexOf(project, pages, app.renderer.router);
  });
  await app.generateOutputs(project);
  writeFileSync(join(folder, 'README.md'), index);
}

// The compiler orders a union by where it met its parts first, so that a change in one file would show in the pages of others.
function sortParts(union) {
  const rank = (part) => (/^(null|undefined)$/.test(String(part)) ? 1 : 0);
  union.types.sort((a, b) => rank(a) - rank(b) || (String(a) < String(b) ? -1 : 1));
}

function entryPoints() {
  return Object.entries(subpaths)
    .filter(([, conditions]) => typeof conditions === 'object')
    .map(([subpath, conditions]) => ({
      page: subpath === '.' ? mainPage : subpath.slice(2),
      file: conditions.import.types.replace('./dist/esm/', 'lib/').replace(/\.d\.ts$/, '.ts'),
    }));
}

// A module is called after its file, or after the folder whose index it is: `lib/stores/redis`.
const isModuleOf = (file, module) => [`${module}.ts`, `${module}/index.ts`].includes(file);

const importedAs = (page) => (page === mainPage ? packageName : `${packageName}/${page}`);

function indexOf(project, pages, router) {
  const sections = pages.map(({ page }) => {
    const module = project.children.find(({ name }) => name === page);
    const groups = module.groups.map(({ title, children }) => {
      const links = children.map((child) => `[${child.name}](${router.getFullUrl(child)})`);
      return `- ${title}: ${links.join(', ')}`;
    });
    return `## [${importedAs(page)}](${router.getFullUrl(module)})\n\n${groups.join('\n')}\n`;
  });
  return [
    '# API reference\n',
    'Everything that can be imported. Made of the comments in the sources by `npm run docs`: mend those, not these pages.\n',
    ...sections,
  ].join('\n');
}
