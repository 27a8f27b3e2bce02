import { describe, expect, it } from 'vitest';
import { licenceFindings, licences, lockFindings } from './supply-chain.mjs';

const locked = {
  '': { version: '0.1.0' },
  'libs/a': { license: 'Apache-2.0' },
  'node_modules/@waybill/a': { link: true },
  'node_modules/one': { version: '1.0.0', license: 'MIT', integrity: 'sha512-a' },
  'node_modules/one/node_modules/@some/tool': {
    version: '2.0.0',
    license: 'MPL-2.0',
    integrity: 'sha512-b',
    dev: true,
  },
};
const repository = { lists: [] as string[], document: '| `other` | why |' };

describe('licences', () => {
  it('are counted by where a package is used, without the project’s own', () => {
    expect(licences(locked)).toEqual([
      { license: 'MIT', use: 'runtime', allowed: true, packages: ['one@1.0.0'] },
      { license: 'MPL-2.0', use: 'tools', allowed: true, packages: ['@some/tool@2.0.0'] },
    ]);
    expect(licenceFindings(locked)).toEqual([]);
  });

  it('that nobody allowed are named, also those of packages that say none', () => {
    const more = {
      ...locked,
      'node_modules/copyleft': { version: '1.0.0', license: 'AGPL-3.0' },
      'node_modules/tool-at-run-time': { version: '1.0.0', license: 'MPL-2.0' },
      'node_modules/silent': { version: '1.0.0' },
    };
    expect(licenceFindings(more).map((one) => one.replace(/:.*/, ''))).toEqual([
      'licence AGPL-3.0 (runtime) of copyleft@1.0.0',
      'licence MPL-2.0 (runtime) of tool-at-run-time@1.0.0',
      'licence unknown (runtime) of silent@1.0.0',
    ]);
  });
});

describe('packages that are built into the pages', () => {
  it('count as what runs, with all that they need, though npm calls them tools', () => {
    const pages = {
      'apps/ui': { devDependencies: { shown: '1.0.0' } },
      'node_modules/shown': { version: '1.0.0', license: 'MIT', dev: true, dependencies: { within: '^2.0.0' } },
      'node_modules/within': { version: '2.0.0', license: 'MPL-2.0', dev: true },
    };
    expect(licenceFindings(pages)).toEqual([expect.stringContaining('licence MPL-2.0 (runtime) of within@2.0.0')]);
  });
});

describe('the lock file', () => {
  const findings = (one: object, manifest = {}, more = repository) =>
    lockFindings({ 'node_modules/one': { integrity: 'sha512-a', ...one } }, manifest, more);

  it('has a hash for each package, and no script runs that was not looked at', () => {
    expect(findings({})).toEqual([]);
    expect(findings({ integrity: undefined })).toEqual(['one has no hash in package-lock.json']);
    expect(findings({ hasInstallScript: true })).toEqual([expect.stringContaining('one wants to run a script')]);
    expect(findings({ hasInstallScript: true }, { allowScripts: { one: false } })).toEqual([]);
  });

  it('lets an old Node have the programs, each of which has its list', () => {
    const manifest = { optionalDependencies: { one: '1.0.0' } };
    const lists = ['one-1.0.0.sha256'];
    expect(findings({}, manifest, { ...repository, lists })).toEqual([]);
    expect(findings({}, manifest)).toEqual(['no one-1.0.0.sha256: run node scripts/pin-programs.mjs']);
    expect(findings({}, {}, { ...repository, lists })).toEqual(['nothing needs libs/embedded/pinned/one-1.0.0.sha256']);
    expect(findings({ engines: { node: '>=22' } }, manifest, { ...repository, lists })).toEqual([
      expect.stringContaining('take "engines" out of one'),
    ]);
  });

  it('overrides nothing without a reason in the document', () => {
    expect(findings({}, { overrides: { other: '1.0.0' } })).toEqual([]);
    expect(findings({}, { overrides: { unexplained: '1.0.0' } })).toEqual([
      expect.stringContaining('overrides unexplained'),
    ]);
  });
});
