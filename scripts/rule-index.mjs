// Which numbered rules the reference defines and which of them a test names. Pure: text in, lists out.
import { parseSync } from 'vite';

const ID = '[A-Z]{2,4}-\\d+';

// Where a rule is defined: it opens a list item (`- **EB-12** …`, `- ST-12 …`, `- **EB-12**, **EB-13** …`), or it stands
// bold in the first cell of a table row (`| **API-518** | …`), or it opens, bold, a later sentence of such a list item. A
// plain id in a table or in a sentence refers to a rule.
const LIST_ITEM = new RegExp(
  `^\\s*[-*] ((?:\\*\\*)?${ID}(?:\\*\\*)?(?:(?:,| and) (?:\\*\\*)?${ID}(?:\\*\\*)?)*)(?=[\\s:.(]|$)`,
);
const TABLE_ROW = new RegExp(`^\\|\\s*((?:\\*\\*${ID}\\*\\*)(?:, \\*\\*${ID}\\*\\*)*)\\s*\\|`);
const LATER_SENTENCE = new RegExp(`\\. \\*\\*(${ID})\\*\\* `, 'g');

/** @param {string} text @returns {string[]} */
export const idsIn = (text) => text.match(new RegExp(`\\b${ID}\\b`, 'g')) ?? [];

/** @param {string} id */
export const prefixOf = (id) => id.slice(0, id.indexOf('-'));

/** @param {string} a @param {string} b */
const byNumber = (a, b) => prefixOf(a).localeCompare(prefixOf(b)) || numberOf(a) - numberOf(b);

/** @param {string} id */
const numberOf = (id) => Number(id.slice(id.indexOf('-') + 1));

/**
 * The rules that a reference document defines, each once, in order of number.
 *
 * @param {string} markdown
 * @returns {string[]}
 */
export function rulesDefinedIn(markdown) {
  const ids = markdown.split('\n').flatMap((line) => {
    const opening = LIST_ITEM.exec(line) ?? TABLE_ROW.exec(line);
    if (opening === null) return [];
    const later = [...line.matchAll(LATER_SENTENCE)].map((match) => match[1] ?? '');
    return idsIn([opening[1], ...later].join(' '));
  });
  return [...new Set(ids)].toSorted(byNumber);
}

/**
 * The rules named by the titles of the tests in a source file. A skipped or planned test proves nothing. With
 * `it.each(rows)('%s: …')` the ids that are values in the rows count, because they become part of the titles.
 *
 * @param {string} file used for its extension and in errors
 * @param {string} source
 * @returns {string[]}
 * @throws {Error} when the source does not parse
 */
export function rulesNamedIn(file, source) {
  const { program, errors } = parseSync(file, source);
  if (errors.length > 0) throw new Error(`${file}: ${errors[0]?.message}`);
  /** @type {Set<string>} */
  const named = new Set();
  collectTitles(program, (title) => {
    for (const id of idsIn(title)) named.add(id);
  });
  return [...named].toSorted(byNumber);
}

const NEVER_RUN = new Set(['skip', 'todo']);

/**
 * Calls `found` with every title of a test. `it.skipIf(condition)(…)` does run where its condition allows, so its title
 * counts; `it.skip` and `it.todo` never run.
 *
 * @param {any} node a syntax tree node
 * @param {(title: string) => void} found
 */
function collectTitles(node, found) {
  if (node === null || typeof node !== 'object') return;
  if (Array.isArray(node)) {
    for (const child of node) collectTitles(child, found);
    return;
  }
  if (node.type === 'CallExpression') {
    const call = testCall(node.callee);
    if (call?.never) {
      // A skipped describe takes all its tests with it.
      return;
    }
    if (call?.isTest && node.arguments.length > 1) {
      const title = literalText(node.arguments[0]);
      found(title);
      if (/%s|\$/.test(title)) for (const text of literalsIn(call.rows)) found(text);
    }
  }
  for (const key of Object.keys(node)) collectTitles(node[key], found);
}

/**
 * What a callee is: `it`, `test`, `describe`, with modifiers and with an `each` table in between.
 *
 * @param {any} callee
 * @returns {{ isTest: boolean, never: boolean, rows: any } | undefined}
 */
function testCall(callee) {
  let rows = null;
  let never = false;
  let node = callee;
  for (;;) {
    if (node.type === 'Identifier') {
      const isTest = node.name === 'it' || node.name === 'test';
      return isTest || node.name === 'describe' ? { isTest, never, rows } : undefined;
    }
    if (node.type === 'MemberExpression') {
      if (NEVER_RUN.has(node.property.name)) never = true;
      node = node.object;
    } else if (node.type === 'CallExpression') {
      rows = node.arguments;
      node = node.callee;
    } else if (node.type === 'TaggedTemplateExpression') {
      rows = node.quasi;
      node = node.tag;
    } else return undefined;
  }
}

/** The fixed parts of a string or template literal. @param {any} node @returns {string} */
function literalText(node) {
  if (node?.type === 'Literal' && typeof node.value === 'string') return node.value;
  if (node?.type === 'TemplateLiteral')
    return node.quasis.map((/** @type {any} */ quasi) => quasi.value.raw).join('${}');
  if (node?.type === 'BinaryExpression' && node.operator === '+')
    return literalText(node.left) + literalText(node.right);
  return '';
}

/** @param {any} node @returns {string[]} */
function literalsIn(node) {
  if (node === null || typeof node !== 'object') return [];
  if (Array.isArray(node)) return node.flatMap(literalsIn);
  const text = literalText(node);
  return text === '' ? Object.values(node).flatMap(literalsIn) : [text];
}

/**
 * @typedef {{ prefix: string, total: number, proven: number, unproven: string[] }} Coverage
 */

/**
 * @param {Iterable<string>} defined
 * @param {Iterable<string>} named
 * @returns {Coverage[]} one for each prefix that has a rule, by prefix
 */
export function coverageByPrefix(defined, named) {
  const proven = new Set(named);
  /** @type {Map<string, Coverage>} */
  const coverage = new Map();
  for (const id of [...new Set(defined)].toSorted(byNumber)) {
    const prefix = prefixOf(id);
    const entry = coverage.get(prefix) ?? { prefix, total: 0, proven: 0, unproven: [] };
    coverage.set(prefix, entry);
    entry.total += 1;
    if (proven.has(id)) entry.proven += 1;
    else entry.unproven.push(id);
  }
  return [...coverage.values()];
}

/**
 * Rules that a test names but no document defines: a misspelt id proves nothing.
 *
 * @param {Iterable<string>} defined
 * @param {Iterable<string>} named
 */
export function namedButUndefined(defined, named) {
  const known = new Set(defined);
  const prefixes = new Set([...known].map(prefixOf));
  return [...named].filter((id) => prefixes.has(prefixOf(id)) && !known.has(id));
}
