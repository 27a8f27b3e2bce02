// What package-lock.json says of everything that is installed: licences, hashes, install scripts. Pure functions, so that
// they can be tested; scripts/licences.mjs prints, `npm run check` refuses.

/**
 * @typedef {object} LockedPackage
 * @property {string} [name] where the folder has another: an override by `npm:`
 * @property {string} [version]
 * @property {string} [license]
 * @property {string} [integrity]
 * @property {boolean} [dev] needed by builds and tests only
 * @property {boolean} [link] a workspace of the project
 * @property {boolean} [hasInstallScript]
 * @property {Record<string, string>} [engines]
 * @property {Record<string, string>} [dependencies]
 * @property {Record<string, string>} [devDependencies]
 */

/** @typedef {Readonly<Record<string, LockedPackage>>} Locked as `packages` of package-lock.json */

/** Licences that ask for no more than a notice: in what Waybill runs, and in what it is built with. */
export const ALLOWED = [
  '0BSD',
  'Apache-2.0',
  'BSD-2-Clause',
  'BSD-3-Clause',
  'BlueOak-1.0.0',
  'CC0-1.0',
  'ISC',
  'MIT',
  'Python-2.0',
  'Unlicense',
];

/** Licences of tools, which nobody is given with Waybill: copyleft by file, and data by attribution. */
export const ALLOWED_FOR_TOOLS = [...ALLOWED, 'CC-BY-3.0', 'CC-BY-4.0', 'MPL-2.0'];

/** @param {string} name of an npm package @param {string} version @returns {string} its list in libs/embedded/pinned */
export const listName = (name, version) => `${name.replace(/^@/, '').replace('/', '-')}-${version}.sha256`;

/** @param {Locked} locked @returns {(readonly [name: string, one: LockedPackage])[]} those that come from the registry */
export function fromRegistry(locked) {
  return Object.entries(locked)
    .filter(([place, one]) => place.includes('node_modules/') && !one.link)
    .map(([place, one]) => [place.slice(place.lastIndexOf('node_modules/') + 'node_modules/'.length), one]);
}

/**
 * What is built into the pages: a tool to npm, yet every reader of a page is given it. Types are erased before.
 *
 * @param {Locked} locked
 * @returns {ReadonlySet<string>}
 */
export function inPages(locked) {
  /** @type {Set<string>} */
  const found = new Set();
  const open = Object.keys(locked['apps/ui']?.devDependencies ?? {});
  for (let name = open.pop(); name !== undefined; name = open.pop()) {
    if (found.has(name) || name.startsWith('@types/')) continue;
    found.add(name);
    open.push(...Object.keys(locked[`node_modules/${name}`]?.dependencies ?? {}));
  }
  return found;
}

/**
 * @param {Locked} locked
 * @returns {{ license: string, use: 'runtime' | 'tools', allowed: boolean, packages: string[] }[]}
 */
export function licences(locked) {
  /** @type {Map<string, { license: string, use: 'runtime' | 'tools', allowed: boolean, packages: string[] }>} */
  const rows = new Map();
  const shown = inPages(locked);
  for (const [name, { license = 'unknown', dev, version }] of fromRegistry(locked)) {
    const use = dev && !shown.has(name) ? 'tools' : 'runtime';
    const allowed = (use === 'tools' ? ALLOWED_FOR_TOOLS : ALLOWED).includes(license);
    const row = rows.get(`${use} ${license}`) ?? { license, use, allowed, packages: [] };
    row.packages.push(`${name}@${version}`);
    rows.set(`${use} ${license}`, row);
  }
  return [...rows.values()].toSorted(
    (a, b) => a.use.localeCompare(b.use) || b.packages.length - a.packages.length || a.license.localeCompare(b.license),
  );
}

/** @param {Locked} locked @returns {string[]} */
export function licenceFindings(locked) {
  return licences(locked)
    .filter((row) => !row.allowed)
    .map(
      ({ license, use, packages }) =>
        `licence ${license} (${use}) of ${packages.join(', ')}: not in the list of scripts/supply-chain.mjs`,
    );
}

/**
 * @param {Locked} locked
 * @param {{ optionalDependencies?: Record<string, string>, allowScripts?: Record<string, boolean>, overrides?: Record<string, string> }} manifest
 * @param {{ lists: readonly string[], document: string }} repository files of libs/embedded/pinned, text of docs/supply-chain.md
 * @returns {string[]}
 */
export function lockFindings(locked, manifest, { lists, document }) {
  const { optionalDependencies = {}, allowScripts = {}, overrides = {} } = manifest;
  const programs = Object.entries(optionalDependencies);
  const expected = programs.map(([name, version]) => listName(name, version));
  return [
    ...fromRegistry(locked).flatMap(([name, one]) => [
      ...(one.integrity ? [] : [`${name} has no hash in package-lock.json`]),
      ...(one.hasInstallScript && allowScripts[name] !== false
        ? [
            `${name} wants to run a script when it is installed: say false in allowScripts of package.json, and see whether all works`,
          ]
        : []),
    ]),
    // npm leaves out an optional package whose engines do not match, without a word; it reads them from the lock file.
    ...programs
      .filter(([name]) => locked[`node_modules/${name}`]?.engines?.['node']?.includes('22'))
      .map(([name]) => `package-lock.json: take "engines" out of ${name}, which a Node 20 would leave out for it`),
    ...expected.filter((one) => !lists.includes(one)).map((one) => `no ${one}: run node scripts/pin-programs.mjs`),
    ...lists.filter((one) => !expected.includes(one)).map((one) => `nothing needs libs/embedded/pinned/${one}`),
    ...Object.keys(overrides)
      .filter((name) => !document.includes(`| \`${name}\``))
      .map((name) => `docs/supply-chain.md does not explain why package.json overrides ${name}`),
  ];
}
