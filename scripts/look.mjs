// `npm run look [-- KIND …] [--limit N]`: what a reader stumbles over, newest first. Taste, shown and not enforced.
import { execFileSync } from 'node:child_process';
import path from 'node:path';
import { parseArgs } from 'node:util';
import writeGood from 'write-good';
import { linesOfCode, MAX_SUBJECT, proseOf, ruleComments, signatures, SMALL_FILE_LINES } from './findings.mjs';
import { filesBelow, pages, root, textOf } from './source-tree.mjs';

/** @typedef {{ kind: string, file: string, line: number, text: string, time: number }} Place */

const KINDS = ['comments', 'verbs', 'parameters', 'small-files', 'subjects', 'prose'];
const { values, positionals } = parseArgs({
  options: { limit: { type: 'string', default: '60' } },
  allowPositionals: true,
});
const wanted = new Set(positionals.length > 0 ? positionals : KINDS);
const unknown = [...wanted].find((kind) => !KINDS.includes(kind));
if (unknown !== undefined) {
  process.stderr.write(`there is no kind ${unknown}: choose from ${KINDS.join(', ')}\n`);
  process.exit(2);
}

/** @param {string[]} args */
const git = (...args) => execFileSync('git', args, { cwd: root, encoding: 'utf8', maxBuffer: 256 << 20 });

/** @type {Omit<Place, 'time'>[]} */
const found = [];
/** @param {string} kind @param {string} file @param {readonly import('./findings.mjs').Finding[]} findings */
const add = (kind, file, findings) => {
  if (wanted.has(kind)) found.push(...findings.map((one) => ({ kind, file, ...one })));
};

const sources = ['libs', 'apps'].flatMap((group) => filesBelow(group, /\.ts$/));
for (const file of sources.filter((name) => /\/src\//.test(name) && !/\.(spec|fixture)\.ts$/.test(name))) {
  const source = textOf(file);
  const { verbs, parameters } = signatures(file, source);
  const lines = linesOfCode(source);
  add('comments', file, ruleComments(source));
  add('verbs', file, verbs);
  add('parameters', file, parameters);
  if (lines < SMALL_FILE_LINES && !/\/(index|main|program)\.ts$|\/migrations\//.test(file))
    add('small-files', file, [{ line: 1, text: `${lines} lines of code` }]);
}
// Generated pages and the contract are not written here.
for (const file of pages().filter((name) => !/^docs\/(reference\/|commands\.md)/.test(name))) {
  const text = textOf(file);
  const lineOf = (/** @type {number} */ offset) => text.slice(0, offset).split('\n').length;
  add(
    'prose',
    file,
    writeGood(proseOf(text), { passive: true }).map(({ index, reason }) => ({ line: lineOf(index), text: reason })),
  );
}

/** @type {Map<string, number[]>} when each line of a file was last changed, unix seconds */
const blamed = new Map();
/** @param {string} file */
function timesOf(file) {
  const known = blamed.get(file);
  if (known) return known;
  /** @type {number[]} */
  let times = [];
  try {
    times = [...git('blame', '--line-porcelain', '--', file).matchAll(/^committer-time (\d+)$/gm)].map(([, time]) =>
      Number(time),
    );
  } catch {
    // A file that was never committed is the newest.
  }
  blamed.set(file, times);
  return times;
}

/** @type {Place[]} */
const places = found.map((one) => ({ ...one, time: timesOf(one.file)[one.line - 1] ?? Date.now() / 1000 }));
if (wanted.has('subjects'))
  for (const row of git('log', '--format=%ct %h %s').trim().split('\n')) {
    const [, time, hash, subject = ''] = /^(\d+) (\S+) (.*)$/.exec(row) ?? [];
    if (subject.length > MAX_SUBJECT)
      places.push({
        kind: 'subjects',
        file: String(hash),
        line: 0,
        text: `${subject.length} characters: ${subject}`,
        time: Number(time),
      });
  }

const shown = places.toSorted((a, b) => b.time - a.time).slice(0, Number(values.limit));
for (const { kind, file, line, text, time } of shown) {
  const day = new Date(time * 1000).toISOString().slice(0, 10);
  const place = line > 0 ? `${path.posix.normalize(file)}:${line}` : file;
  process.stdout.write(`${day}  ${kind.padEnd(11)}  ${place}  ${text}\n`);
}
process.stdout.write(
  `\n${KINDS.filter((kind) => wanted.has(kind))
    .map((kind) => `${kind} ${places.filter((one) => one.kind === kind).length}`)
    .join(', ')}; ${shown.length} shown, newest first (--limit)\n`,
);
