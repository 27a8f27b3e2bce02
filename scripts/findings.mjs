// What a reader of the source stumbles over, as findings with a line. Pure: text in, findings out. `npm run look` prints them.
import { parseSync } from 'vite';

/** @typedef {{ line: number, text: string }} Finding */

/** A parameter list that is longer is one named object. */
export const MAX_POSITIONAL = 4;
/** A file with fewer lines of code, imports not counted, is hardly a concept. */
export const SMALL_FILE_LINES = 12;
/** Longest subject of a commit. */
export const MAX_SUBJECT = 72;

const RULE = '[A-Z]{2,3}-\\d+[a-z]?';
const ONLY_RULES = new RegExp(`^(?:${RULE}|to|and|section|\\d+(?:\\.\\d+)*|[\\s,;.()–-])+$`);
const NAMES_A_RULE = new RegExp(`\\b${RULE}\\b`);
/** Followed by punctuation or another number, so that `UTF-16 units` is not taken for a rule. */
const STARTS_WITH_RULE = new RegExp(`^\\(?${RULE}(?:[:.,;)]|\\s+(?:to|and)\\s)`);
/** Verbs that say what is done only together with what it is done to. */
const BARE_VERBS = new Set(['run', 'read', 'take', 'look', 'ask']);
/** Name under which the walk visits the arguments of `replace` and `replaceAll`. */
const REPLACER = 'replacer';
/** Here `run` is the only method of the command pattern. */
const COMMANDS = 'apps/cli/src/commands/';

/** @param {string} source @param {number} offset */
const lineAt = (source, offset) => source.slice(0, offset).split('\n').length;

/**
 * Comments that start with a rule number, instead of a sentence that the number follows. Most are only the number.
 *
 * @param {string} source
 * @returns {Finding[]}
 */
export function ruleComments(source) {
  const comments = source.matchAll(/\/\*\*?((?:(?!\*\/)[^])*)\*\/|^[ \t]*(\/\/.*(?:\n[ \t]*\/\/.*)*)/gm);
  return [...comments].flatMap((match) => {
    const lines = (match[1] ?? match[2] ?? '').split('\n').map((line) => line.replace(/^\s*(?:\*|\/\/)/, '').trim());
    const text = lines.join(' ').trim();
    const isRule = NAMES_A_RULE.test(text) && (ONLY_RULES.test(text) || STARTS_WITH_RULE.test(text));
    return isRule ? [{ line: lineAt(source, match.index + match[0].search(/\S/)), text }] : [];
  });
}

/**
 * Comments that describe a refusal by the status of an HTTP answer. A refusal has a code; only one place knows statuses.
 *
 * @param {string} source
 * @returns {Finding[]}
 */
export const refusalsByStatus = (source) =>
  [...source.matchAll(/@throws[^\n]*?Refusal \d{3}\b/g)].map(({ 0: text, index }) => ({
    line: lineAt(source, index),
    text,
  }));

/**
 * Lists whose elements become the arguments of one call of `push`. Arguments lie on the stack, which some hundred
 * thousand of them exceed: a `for` loop takes any number.
 *
 * @param {string} source
 * @returns {Finding[]}
 */
export const spreadPushes = (source) =>
  [...source.matchAll(/\.push\(\s*\.\.\.[^\n]*/g)].map(({ 0: text, index }) => ({ line: lineAt(source, index), text }));

/**
 * Methods and functions with a bare verb for a name, and long positional parameter lists.
 *
 * @param {string} file its name tells the language
 * @param {string} source
 * @returns {{ verbs: Finding[], parameters: Finding[] }}
 */
export function signatures(file, source) {
  /** @type {Finding[]} */
  const verbs = [];
  /** @type {Finding[]} */
  const parameters = [];
  /** @param {any} node @param {string} name @param {boolean} [isRpc] */
  const walk = (node, name, isRpc = false) => {
    if (Array.isArray(node)) return node.forEach((one) => walk(one, name, isRpc));
    if (typeof node?.type !== 'string') return;
    // The first argument of `Rpc.ask` is the call, which says what is asked.
    const implementsRpc =
      isRpc || (node.implements ?? []).some((/** @type {any} */ one) => one.expression?.name === 'Rpc');
    const named = node.type === 'MethodDefinition' || node.type === 'FunctionDeclaration';
    const own = named ? String(node.key?.name ?? node.id?.name ?? '') : '';
    const isCommand = own === 'run' && file.includes(COMMANDS);
    const isCall = own === 'ask' && isRpc;
    // The platform sets the parameters of a function that replaces matches.
    const isReplacer = name === REPLACER;
    if (BARE_VERBS.has(own) && !isCommand && !isCall)
      verbs.push({ line: lineAt(source, node.start), text: `${own}()` });
    if (Array.isArray(node.params) && node.params.length > MAX_POSITIONAL && node.body && !isReplacer)
      parameters.push({
        line: lineAt(source, node.start),
        text: `${own || name || 'function'}: ${node.params.length} parameters`,
      });
    const outer = name === REPLACER ? '' : name;
    if (node.type === 'CallExpression' && /^replace(All)?$/.test(node.callee.property?.name ?? '')) {
      walk(node.callee, outer, implementsRpc);
      return walk(node.arguments, REPLACER, implementsRpc);
    }
    for (const value of Object.values(node))
      if (value !== null && typeof value === 'object')
        walk(value, own || String(node.id?.name ?? outer), implementsRpc);
  };
  walk(parseSync(file, source).program, '');
  return { verbs, parameters };
}

/**
 * Lines of code, without imports, comments and blank lines.
 *
 * @param {string} source
 */
export const linesOfCode = (source) =>
  source
    .replaceAll(/\/\*[^]*?\*\//g, '')
    .replaceAll(/^import [^;]*;/gm, '')
    .split('\n')
    .filter((line) => line.trim() !== '' && !line.trim().startsWith('//')).length;

/**
 * A page without what is no prose: fenced blocks, code, tables' rules and targets of links. Offsets stay the same.
 *
 * @param {string} page
 */
export const proseOf = (page) =>
  page.replaceAll(/^ *```[^]*?^ *```|`[^`\n]*`|\]\([^)]*\)|^(?: {4}.*|\|[-| :]*)$/gm, (code) =>
    code.replaceAll(/[^\n]/g, ' '),
  );
