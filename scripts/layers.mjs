// The direction of dependencies, as a table and as the rules that follow from it. Pure: files in, violations out.
import path from 'node:path';
import { parseSync } from 'vite';

/**
 * A package and the workspace packages it may import, lowest first. Whoever adds a package adds its line here.
 *
 * @type {Readonly<Record<string, readonly string[]>>}
 */
const LIBS = {
  model: [],
  gotemplate: [],
  certificates: [],
  csi: [],
  websocket: [],
  jobspec: ['model'],
  acl: ['model', 'jobspec'],
  keyring: ['model'],
  telemetry: [],
  processes: [],
  plugins: ['jobspec', 'processes'],
  'plugin-sdk': ['plugins'],
  embedded: ['processes'],
  state: ['model'],
  rpc: ['model', 'state', 'acl', 'telemetry'],
  journal: ['model', 'state', 'telemetry', 'processes'],
  projection: ['model', 'state', 'telemetry'],
  replica: ['model', 'state', 'telemetry', 'journal', 'projection'],
  writing: ['model', 'state', 'rpc', 'journal'],
  roles: ['model', 'state', 'telemetry', 'journal', 'projection', 'replica', 'writing'],
  service: [
    'model',
    'keyring',
    'state',
    'acl',
    'telemetry',
    'rpc',
    'journal',
    'projection',
    'replica',
    'writing',
    'roles',
  ],
};

/** Parts that may be imported alone, because a program starts with them and should not load the whole package. */
const PARTS = new Set([
  'jobspec/nearest-name',
  'model/clock',
  'model/cron',
  'model/duration',
  'model/multiregion',
  'model/pattern-replacement',
  'model/snapshot-archive',
  'model/system-timers',
  'model/task-event',
  'model/version',
  'processes/program',
]);

/** What a service may import: every library but the embedded servers. */
const SERVICE = Object.keys(LIBS).filter((name) => name !== 'embedded');

const SERVICES = ['agent', 'api', 'broker', 'deployments', 'nodes', 'projector', 'scheduler', 'volumes'];

/** What runs in browsers: its packages are in its own manifest, and nothing of Node is there. */
const BROWSER = 'apps/ui';

/**
 * What each folder may import of the workspace. `apps/dev` and `test` put the whole together; nothing else imports an app.
 *
 * @type {Readonly<Record<string, readonly string[]>>}
 */
export const MAY_IMPORT = {
  ...Object.fromEntries(Object.entries(LIBS).map(([name, below]) => [`libs/${name}`, below])),
  ...Object.fromEntries(SERVICES.map((name) => [`apps/${name}`, SERVICE])),
  'apps/cli': ['model', 'certificates', 'jobspec', 'gotemplate', 'plugins', 'websocket', 'processes'],
  // Looks at a run from the outside: the log and Postgres, none of the services that wrote them.
  'apps/verify': ['model', 'state', 'rpc', 'journal', 'projection', 'embedded'],
  'apps/dev': [...Object.keys(LIBS), ...SERVICES],
  // Runs in browsers: it knows the API by the description that the API gives of itself.
  [BROWSER]: [],
};

/** Packages and built-in modules that a pure file must not know. */
const IMPURE = [
  /^@nestjs\//,
  /^@nats-io\//,
  /^(pg|typeorm|fastify)(\/|$)/,
  /^(node:)?(fs|child_process|net|http|https|http2|dgram|worker_threads|cluster)(\/|$)/,
];

/** Pure whole: every file of these packages. */
const PURE_PACKAGES = ['libs/model', 'libs/gotemplate', 'libs/jobspec', 'libs/acl', 'libs/state'];

/**
 * Files of apps that may do I/O, by what their name says: Nest's parts (`*.service.ts` puts a service together), and what
 * hides a store or a transport. Everything else in an app is pure.
 */
const SHELL_FILES = [
  /^main\.ts$/,
  /\.(service|module|controller|decorator|filter|guard|interceptor)\.ts$/,
  /\.(repository|store|transport)\.ts$/,
];

/**
 * Folders and files of apps whose very purpose is I/O, each with the reason.
 *
 * @type {ReadonlyArray<readonly [RegExp, string]>}
 */
const SHELL_PLACES = [
  [/^apps\/(dev|cli)\//, 'starts processes and reads files: there is no logic to keep apart'],
  [/^apps\/api\/src\/http\//, 'requests and answers: Fastify and Nest are what it is about'],
  [/^apps\/agent\/src\/(drivers|machine\/fingerprint)\//, 'a driver starts processes, a fingerprint reads the machine'],
  [/^apps\/agent\/src\/tasks\/logs\//, 'moves what processes write into files, and reads those'],
  [/^apps\/agent\/src\/allocations\/files\//, 'reads the files of allocations for those who ask'],
  [/^apps\/agent\/src\/tasks\/(artifacts|hooks)\//, 'makes ready what a task finds in its directories'],
];

/**
 * @typedef {{ file: string, text: string }} SourceFile path from the root with forward slashes, and its text
 * @typedef {{ file: string, message: string }} Violation
 */

/** @param {string} file */
export const packageOf = (file) => file.split('/').slice(0, 2).join('/');

/** @param {string} file */
const isTest = (file) => /\.(spec|test)\.tsx?$/.test(file);

/** @param {string} file */
export function isPure(file) {
  const owner = packageOf(file);
  if (PURE_PACKAGES.includes(owner)) return true;
  if (!owner.startsWith('apps/')) return false;
  if (SHELL_FILES.some((name) => name.test(path.posix.basename(file)))) return false;
  return !SHELL_PLACES.some(([place]) => place.test(file));
}

/**
 * The modules a file imports: static, re-exported, types, and dynamic ones with a fixed name.
 *
 * @param {SourceFile} source
 * @returns {string[]}
 * @throws {Error} when the source does not parse
 */
export function importsOf({ file, text }) {
  const { module, errors } = parseSync(file, text);
  if (errors.length > 0) throw new Error(`${file}: ${errors[0]?.message}`);
  const fixed = module.staticImports.map((entry) => entry.moduleRequest.value);
  const exported = module.staticExports.flatMap((entry) => entry.entries.map((one) => one.moduleRequest?.value ?? ''));
  const dynamic = module.dynamicImports.map(({ moduleRequest: { start, end } }) => {
    const name = /^(['"`])([^'"`$]+)\1$/.exec(text.slice(start, end));
    return name?.[2] ?? '';
  });
  return [...new Set([...fixed, ...exported, ...dynamic])].filter((name) => name !== '');
}

/**
 * @typedef {object} Workspace
 * @property {readonly string[]} runtimeDependencies names in `dependencies` and `optionalDependencies` of the root
 * @property {readonly string[]} browserDependencies names in `devDependencies` of apps/ui: they are built into its files
 * @property {readonly string[]} builtins node's own modules, without `node:`
 * @property {Readonly<Record<string, readonly string[]>>} references package folder → folders its tsconfig references
 */

/**
 * Every breach of the table in the given source files: wrong direction, a way round the public surface of a package, a
 * reference missing in tsconfig, I/O in a pure file, a package that production does not install.
 *
 * @param {readonly SourceFile[]} files
 * @param {Workspace} workspace
 * @returns {Violation[]}
 */
export function violations(files, workspace) {
  return files.flatMap((source) =>
    importsOf(source).flatMap((name) =>
      breaches(source.file, name, workspace).map((message) => ({ file: source.file, message })),
    ),
  );
}

/**
 * @param {string} file
 * @param {string} name the imported module
 * @param {Workspace} workspace
 * @returns {string[]}
 */
function breaches(file, name, workspace) {
  const owner = packageOf(file);
  if (name.startsWith('.')) {
    const target = path.posix.join(path.posix.dirname(file), name);
    return target.startsWith(`${owner}/`) ? [] : [`imports ${name}, outside ${owner}: import the package instead`];
  }
  const own = /^@waybill\/([^/]+)(\/.*)?$/.exec(name);
  if (own) return workspaceBreaches(file, owner, own[1] ?? '', own[2], workspace);
  const found = [];
  if (!isTest(file) && isPure(file) && IMPURE.some((pattern) => pattern.test(name))) {
    found.push(
      `imports ${name}, but is a pure file: move the I/O behind a *.repository.ts, *.store.ts or *.transport.ts`,
    );
  }
  if (!isTest(file) && owner === BROWSER && !workspace.browserDependencies.includes(packageName(name)))
    found.push(`imports ${name}, which apps/ui/package.json does not list`);
  if (!isTest(file) && owner !== BROWSER && !isInstalled(name, workspace)) {
    found.push(`imports ${name}, which package.json does not list as a run-time dependency`);
  }
  return found;
}

/**
 * @param {string} file
 * @param {string} owner
 * @param {string} target name of a workspace package
 * @param {string | undefined} subpath
 * @param {Workspace} workspace
 */
function workspaceBreaches(file, owner, target, subpath, workspace) {
  const found = [];
  const allowed = MAY_IMPORT[owner];
  if (allowed === undefined) return [`${owner} has no line in scripts/layers.mjs`];
  if (!allowed.includes(target)) {
    const kind = SERVICES.includes(target) || target === 'dev' || target === 'cli' ? 'app' : 'lib';
    found.push(`imports @waybill/${target}: ${owner} must not import that ${kind}`);
  }
  if (subpath !== undefined && !PARTS.has(`${target}${subpath}`))
    found.push(`imports @waybill/${target}${subpath}: only the package itself is public`);
  const folder = SERVICES.includes(target) ? `apps/${target}` : `libs/${target}`;
  if (found.length === 0 && !isTest(file) && !workspace.references[owner]?.includes(folder)) {
    found.push(`imports @waybill/${target}, but ${owner}/tsconfig.json has no reference to ${folder}`);
  }
  return found;
}

/**
 * @param {string} name
 * @param {Workspace} workspace
 */
function isInstalled(name, { runtimeDependencies, builtins }) {
  if (name.startsWith('node:')) return true;
  return runtimeDependencies.includes(packageName(name)) || builtins.includes(name.split('/')[0] ?? '');
}

/** @param {string} name of a module @returns {string} the package that it is in */
function packageName(name) {
  const [first = '', second = ''] = name.split('/');
  return first.startsWith('@') ? `${first}/${second}` : first;
}

/**
 * Files that import each other in a circle, types included: nobody can read one of them without all others. Tests are left
 * out. One violation for each circle, at the first of its files by name.
 *
 * @param {readonly SourceFile[]} files
 * @returns {Violation[]}
 */
export function cycleViolations(files) {
  const sources = files.filter(({ file }) => !isTest(file));
  const known = new Set(sources.map(({ file }) => file));
  const imported = new Map(
    sources.map((source) => {
      const folder = path.posix.dirname(source.file);
      const names = importsOf(source).filter((name) => name.startsWith('.'));
      const targets = names.flatMap((name) => {
        const stem = path.posix.join(folder, name).replace(/\.js$/, '');
        return [`${stem}.ts`, `${stem}.tsx`];
      });
      return [source.file, targets.filter((target) => known.has(target))];
    }),
  );
  return circles(imported).map((circle) => {
    const [file = '', ...others] = circle.toSorted();
    return { file, message: `is in a circle of imports with ${others.join(', ')}` };
  });
}

/**
 * Groups of more than one node that reach each other (Tarjan's strongly connected components).
 *
 * @param {ReadonlyMap<string, readonly string[]>} edges
 * @returns {string[][]}
 */
function circles(edges) {
  /** @type {Map<string, { order: number, lowest: number }>} */
  const seen = new Map();
  /** @type {string[]} */
  const open = [];
  /** @type {string[][]} */
  const found = [];
  /** @param {string} node */
  const visit = (node) => {
    const mark = { order: seen.size, lowest: seen.size };
    seen.set(node, mark);
    open.push(node);
    for (const next of edges.get(node) ?? []) {
      const known = seen.get(next);
      if (!known) mark.lowest = Math.min(mark.lowest, visit(next).lowest);
      else if (open.includes(next)) mark.lowest = Math.min(mark.lowest, known.order);
    }
    if (mark.lowest !== mark.order) return mark;
    const group = open.splice(open.indexOf(node));
    if (group.length > 1) found.push(group);
    return mark;
  };
  for (const node of edges.keys()) if (!seen.has(node)) visit(node);
  return found;
}

/**
 * References in tsconfig files that the table does not allow, and packages that the table does not know.
 *
 * @param {Workspace['references']} references
 * @returns {Violation[]}
 */
export function referenceViolations(references) {
  return Object.entries(references).flatMap(([owner, folders]) => {
    const file = `${owner}/tsconfig.json`;
    const allowed = MAY_IMPORT[owner];
    if (allowed === undefined) return [{ file, message: `${owner} has no line in scripts/layers.mjs` }];
    return folders
      .filter((folder) => !allowed.includes(path.posix.basename(folder)))
      .map((folder) => ({ file, message: `references ${folder}, which ${owner} must not import` }));
  });
}
