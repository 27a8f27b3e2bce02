// `npm run licences`: the licence of everything that is installed, and whether it may be. Reads package-lock.json only.
import { licenceFindings, licences } from './supply-chain.mjs';
import { textOf } from './source-tree.mjs';

/** Longest list of names in a row. */
const NAMED = 3;

const { packages } = JSON.parse(textOf('package-lock.json'));
const rows = licences(packages).map(({ license, use, allowed, packages: names }) => {
  const more = names.length - NAMED;
  return [
    allowed ? 'ok' : 'NO',
    use,
    license,
    String(names.length),
    `${names.slice(0, NAMED).join(' ')}${more > 0 ? ` … and ${more} more` : ''}`,
  ];
});
const table = [['', 'in', 'licence', 'packages', 'for example'], ...rows];
const widths = [0, 1, 2, 3].map((column) => Math.max(...table.map((row) => row[column]?.length ?? 0)));
for (const row of table)
  process.stdout.write(`${row.map((cell, i) => (i < 4 ? cell.padEnd(widths[i] ?? 0) : cell)).join('  ')}\n`);
const findings = licenceFindings(packages);
for (const one of findings) process.stdout.write(`${one}\n`);
process.stdout.write(findings.length === 0 ? 'every licence is allowed\n' : `${findings.length} not allowed\n`);
process.exitCode = findings.length === 0 ? 0 : 1;
