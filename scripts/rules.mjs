// `npm run rules [-- PREFIX] [--json]`: which numbered rules of docs/reference have a test that names them.
import { coverageByPrefix, namedButUndefined, rulesDefinedIn, rulesNamedIn } from './rule-index.mjs';
import { referenceFiles, testFiles, textOf } from './source-tree.mjs';

const args = process.argv.slice(2);
const json = args.includes('--json');
const wanted = args.filter((arg) => !arg.startsWith('--')).map((arg) => arg.replace(/-$/, '').toUpperCase());
/** @type {string[]} */
const lines = [];
const print = (/** @type {string} */ line) => lines.push(line);

const defined = referenceFiles().flatMap((file) => rulesDefinedIn(textOf(file)));
const named = new Set(testFiles().flatMap((file) => rulesNamedIn(file, textOf(file))));
const all = coverageByPrefix(defined, named);
const chosen = wanted.length === 0 ? all : all.filter((entry) => wanted.includes(entry.prefix));
const unknown = wanted.filter((prefix) => !all.some((entry) => entry.prefix === prefix));

if (unknown.length > 0) {
  process.stderr.write(`no rules ${unknown.join(', ')}: the prefixes are ${all.map((e) => e.prefix).join(', ')}\n`);
  process.exitCode = 1;
} else if (json) {
  for (const entry of chosen) print(JSON.stringify(entry));
} else if (wanted.length > 0) {
  for (const entry of chosen) {
    print(`${entry.prefix}: ${entry.proven} of ${entry.total} rules are named by a test`);
    if (entry.unproven.length > 0) print(`not named: ${entry.unproven.join(' ')}`);
  }
} else {
  print('prefix   rules  proven');
  for (const { prefix, total, proven } of all) {
    print(`${prefix.padEnd(6)} ${String(total).padStart(7)} ${String(proven).padStart(7)}`);
  }
  const sum = (/** @type {'total' | 'proven'} */ key) => String(all.reduce((n, e) => n + e[key], 0)).padStart(7);
  print(`all    ${sum('total')} ${sum('proven')}`);
}
const misnamed = namedButUndefined(defined, named);
if (!json && misnamed.length > 0) print(`named by a test but defined nowhere: ${misnamed.join(' ')}`);
if (lines.length > 0) process.stdout.write(`${lines.join('\n')}\n`);
