// `npm run check`: everything that can be said about the code without running it. One line per check, then what is wrong.
import { spawnSync } from 'node:child_process';
import { existsSync, readdirSync } from 'node:fs';
import { builtinModules } from 'node:module';
import path from 'node:path';
import { pathViolations } from './agent-paths.mjs';
import { refusalsByStatus, spreadPushes } from './findings.mjs';
import { chartFindings } from './chart.mjs';
import { contractTypes } from './contract-types.mjs';
import { kustomize } from './kustomize.mjs';
import { cycleViolations, referenceViolations, violations } from './layers.mjs';
import { deadLinks, repeatedHeadings } from './links.mjs';
import { readmeFindings } from './package-readmes.mjs';
import { namedButUndefined, rulesDefinedIn, rulesNamedIn } from './rule-index.mjs';
import { fromRegistry, licenceFindings, lockFindings } from './supply-chain.mjs';
import { CONTRACT, filesBelow, pages, referenceFiles, root, testFiles, textOf } from './source-tree.mjs';

/** A check answers with what is wrong, one text per finding; none means it passed. */
/** @typedef {readonly [name: string, check: () => string[] | Promise<string[]>]} Check */

/** Longest output of a failing tool that is shown. */
const MAX_SHOWN_LINES = 200;

/**
 * Runs a program of node_modules/.bin (or npm); its output is the finding when it fails.
 *
 * @param {string} program
 * @param {string[]} args
 * @returns {string[]}
 */
function tool(program, args) {
  const file = program === 'npm' ? 'npm' : path.join(root, 'node_modules', '.bin', program);
  const run = spawnSync(file, args, { cwd: root, encoding: 'utf8', maxBuffer: 64 << 20 });
  if (run.status === 0) return [];
  const output = `${run.stdout ?? ''}${run.stderr ?? ''}`.trim() || String(run.error ?? `ended with ${run.signal}`);
  const lines = output.split('\n');
  const more = lines.length - MAX_SHOWN_LINES;
  return [[...lines.slice(0, MAX_SHOWN_LINES), ...(more > 0 ? [`… and ${more} lines more`] : [])].join('\n')];
}

/** @param {string} file */
const json = (file) => JSON.parse(textOf(file));

/** @param {string} file a tsconfig @returns {string[]} */
const referencePaths = (file) => (json(file).references ?? []).map((/** @type {{ path: string }} */ one) => one.path);

/** The tool of `npm run docs:api`, with a lock file of its own. */
const API_DOCS = 'scripts/api-docs';

const manifests = () => [
  'package.json',
  `${API_DOCS}/package.json`,
  ...['libs', 'apps'].flatMap((group) => filesBelow(group, /^package\.json$/)),
];

/** Folder of a package → folders that its tsconfig.json references. */
function references() {
  const configs = ['libs', 'apps'].flatMap((group) => filesBelow(group, /^tsconfig\.json$/));
  return Object.fromEntries(
    configs.map((file) => {
      const folder = path.posix.dirname(file);
      return [folder, referencePaths(file).map((one) => path.posix.join(folder, one))];
    }),
  );
}

function direction() {
  const { dependencies, optionalDependencies } = json('package.json');
  const sources = ['libs', 'apps']
    .flatMap((group) => filesBelow(group, /\.tsx?$/))
    .filter((file) => /\/src\//.test(file))
    .map((file) => ({ file, text: textOf(file) }));
  const listed = references();
  const found = [
    ...referenceViolations(listed),
    ...cycleViolations(sources),
    ...violations(sources, {
      browserDependencies: Object.keys(json('apps/ui/package.json').devDependencies),
      runtimeDependencies: [...Object.keys(dependencies), ...Object.keys(optionalDependencies ?? {})],
      builtins: builtinModules,
      references: listed,
    }),
  ];
  return found.map(({ file, message }) => `${file}: ${message}`);
}

/** Every package is built by the root, and its tests are type-checked. */
function projects() {
  const folders = Object.keys(references());
  return ['tsconfig.json', 'tsconfig.tests.json'].flatMap((file) => {
    const listed = referencePaths(file);
    return folders.filter((folder) => !listed.includes(folder)).map((folder) => `${file} does not reference ${folder}`);
  });
}

/** A name from outside becomes a path where it is checked, and nowhere else. */
function agentPaths() {
  return filesBelow('apps/agent/src', /\.ts$/).flatMap((file) => pathViolations(file, textOf(file)));
}

/** A range would let two checkouts of one commit differ. */
function pinned() {
  return manifests().flatMap((file) => {
    const manifest = json(file);
    const groups = ['dependencies', 'devDependencies', 'optionalDependencies', 'overrides'];
    return groups
      .flatMap((group) => Object.entries(manifest[group] ?? {}))
      .filter(([, version]) => !/^(npm:[\w@/.-]+@)?\d+\.\d+\.\d+(-[\w.]+)?$/.test(String(version)))
      .map(([name, version]) => `${file}: ${name} is "${version}": write the exact version`);
  });
}

/** Hashes, install scripts, pinned programs and overrides. */
function supplyChain() {
  const lists = filesBelow('libs/embedded/pinned', /./).map((file) => path.posix.basename(file));
  const { packages } = json('package-lock.json');
  const docs = json(`${API_DOCS}/package-lock.json`);
  return [
    ...lockFindings(packages, json('package.json'), { lists, document: textOf('docs/supply-chain.md') }),
    ...lockFindings(docs.packages, json(`${API_DOCS}/package.json`), { lists: [], document: '' }),
  ];
}

/** The bill of materials can be made, and names everything that the lock file does. */
function billOfMaterials() {
  const failed = tool('npm', ['run', '-s', 'sbom']);
  if (failed.length > 0) return failed;
  const { components } = json('sbom.cdx.json');
  const named = new Set(components.map((/** @type {{ purl?: string }} */ one) => one.purl?.replace(/\?.*/, '')));
  return fromRegistry(json('package-lock.json').packages)
    .map(([name, one]) => `pkg:npm/${(one.name ?? name).replace('@', '%40')}@${one.version}`)
    .filter((purl) => !named.has(purl))
    .map((purl) => `sbom.cdx.json does not name ${purl}`);
}

function ruleNames() {
  const defined = referenceFiles().flatMap((file) => rulesDefinedIn(textOf(file)));
  return testFiles().flatMap((file) =>
    namedButUndefined(defined, rulesNamedIn(file, textOf(file))).map((id) => `${file}: no document defines ${id}`),
  );
}

/** A page that moved takes its links along, and has each heading once. */
function links() {
  const tree = { exists: (/** @type {string} */ file) => existsSync(path.join(root, file)), textOf };
  return pages().flatMap((file) => [...deadLinks(file, textOf(file), tree), ...repeatedHeadings(file, textOf(file))]);
}

/** Packages have a README, and it names what exists. */
function packageReadmes() {
  return ['libs', 'apps'].flatMap((folder) =>
    readdirSync(path.join(root, folder), { withFileTypes: true })
      .filter((entry) => entry.isDirectory())
      .flatMap(({ name }) => {
        const of = path.posix.join(folder, name);
        const exists = (/** @type {string} */ file) => existsSync(path.join(root, file));
        if (!exists(`${of}/README.md`)) return [`${of} has no README.md`];
        const sources = filesBelow(`${of}/src`, /(?<!\.d)\.tsx?$/).map(textOf);
        return readmeFindings(of, { readme: textOf(`${of}/README.md`), sources, exists });
      }),
  );
}

/** Comments name the code of a refusal, which cannot drift from the status of the answer. */
function refusalCodes() {
  return ['libs', 'apps'].flatMap((folder) =>
    filesBelow(folder, /\.ts$/).flatMap((file) =>
      refusalsByStatus(textOf(file)).map(({ line, text }) => `${file}:${line}: ${text}: name the code`),
    ),
  );
}

/** A list as long as a cluster or a request must not lie on the stack. */
function listsAsArguments() {
  const sources = ['libs', 'apps'].flatMap((folder) => filesBelow(folder, /(?<!\.spec)\.tsx?$/));
  const products = sources.filter((file) => !/\bfixtures?\b/.test(file));
  return products.flatMap((file) =>
    spreadPushes(textOf(file)).map(({ line, text }) => `${file}:${line}: ${text}: push each element in a loop`),
  );
}

/** A text of a job or a log must stay a text: React escapes it, and these would not. */
const MARKUP = /\b(?:dangerouslySetInnerHTML|innerHTML|outerHTML|insertAdjacentHTML|createContextualFragment|srcDoc)\b/;

/** The pages know the API's answers as they are, and show every text as text. */
async function pagesOfTheUi() {
  const { openApiDocument } = await import('../apps/api/dist/openapi/document.js');
  const types = contractTypes(/** @type {any} */ (openApiDocument()));
  const markup = filesBelow('apps/ui/src', /\.tsx?$/).filter((file) => MARKUP.test(textOf(file)));
  return [
    ...(types === textOf(CONTRACT) ? [] : [`${CONTRACT} is not what the API says: run npm run ui:contract`]),
    ...markup.map((file) => `${file} makes markup of a text`),
  ];
}

/** @type {Check[]} */
const checks = [
  ['types', () => tool('tsc', ['-b'])],
  ['types of tests', () => tool('tsc', ['-p', 'tsconfig.tests.json'])],
  // Benchmarks are plain JavaScript: names and shapes are checked, parameters need no annotations.
  ['types of benchmarks', () => tool('tsc', ['-p', 'tsconfig.bench.json'])],
  ['projects', projects],
  ['lint', () => tool('oxlint', ['--type-aware', '--quiet'])],
  ['format', () => tool('oxfmt', ['--check', '.'])],
  ['direction of dependencies', direction],
  ['paths of the agent', agentPaths],
  ['rule names in tests', ruleNames],
  ['links between pages', links],
  ['READMEs of packages', packageReadmes],
  ['refusals by their code', refusalCodes],
  ['lists that are not arguments', listsAsArguments],
  ['pages', pagesOfTheUi],
  // Rendered with kubectl or kustomize; without them the chart is not looked at.
  ...(kustomize === undefined ? [] : [/** @type {Check} */ (['Helm chart', chartFindings])]),
  ['pinned versions', pinned],
  [
    'licences',
    () => ['', `${API_DOCS}/`].flatMap((place) => licenceFindings(json(`${place}package-lock.json`).packages)),
  ],
  ['supply chain', supplyChain],
  ['bill of materials', billOfMaterials],
  ['lockfile', () => tool('npm', ['ci', '--dry-run', '--ignore-scripts'])],
];

let failures = 0;
for (const [name, check] of checks) {
  const started = performance.now();
  /** @type {string[]} */
  let found;
  try {
    found = await check();
  } catch (error) {
    found = [error instanceof Error ? error.message : String(error)];
  }
  const seconds = ((performance.now() - started) / 1000).toFixed(1);
  process.stdout.write(`${found.length === 0 ? 'ok  ' : 'FAIL'} ${name} (${seconds} s)\n`);
  for (const one of found) process.stdout.write(`${one.replaceAll(/^/gm, '     ')}\n`);
  if (found.length > 0) failures += 1;
}
if (kustomize === undefined) process.stdout.write('skip Helm chart (needs kubectl 1.24 or kustomize 4)\n');
process.stdout.write(
  failures === 0 ? `${checks.length} checks passed\n` : `${failures} of ${checks.length} checks failed\n`,
);
process.exitCode = failures === 0 ? 0 : 1;
