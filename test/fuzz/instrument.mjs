// Counters at every branch of the code under test, as a plugin of the bundler: the native fuzzers for Node want a newer C
// library than Debian 12 has, or are not kept, and V8's own coverage takes milliseconds for each input.
import { parseAst } from 'vite';

/** Name of the counters in the instrumented code, a `Uint8Array` of the global object. */
export const COUNTERS = '__fuzzCounters';
/** Texts of the code that inputs are made with. */
const MAX_WORD = 40;

/**
 * @typedef {{ type: string, start: number, end: number, [member: string]: unknown }} Node
 * @typedef {object} Instrumented
 * @property {number} counters how many were given out
 * @property {Set<string>} words text literals of the code: they are what its input is compared with
 */

/** @param {string} code @param {Instrumented} so */
export function instrument(code, so) {
  /** @type {{ at: number, text: string, order: number }[]} */
  const inserted = [];
  const count = () => `${COUNTERS}[${so.counters++}]++`;
  const put = (/** @type {number} */ at, /** @type {string} */ text, order = 0) => inserted.push({ at, text, order });
  const expression = (/** @type {Node} */ node) => {
    put(node.start, `(${count()},(`, -node.end);
    put(node.end, '))', -node.start);
  };
  const statement = (/** @type {Node | null} */ node) => {
    if (!node || node.type === 'BlockStatement') return;
    put(node.start, `{${count()};`, -node.end);
    put(node.end, '}', -node.start);
  };
  /** @param {Node} node */
  const visit = (node) => {
    switch (node.type) {
      case 'BlockStatement':
        put(node.start + 1, `${count()};`);
        break;
      case 'IfStatement':
        statement(/** @type {Node} */ (node['consequent']));
        statement(/** @type {Node | null} */ (node['alternate']));
        break;
      case 'ForStatement':
      case 'ForOfStatement':
      case 'ForInStatement':
      case 'WhileStatement':
        statement(/** @type {Node} */ (node['body']));
        break;
      case 'SwitchCase': {
        const [first] = /** @type {Node[]} */ (node['consequent']);
        if (first) put(first.start, `${count()};`, -Infinity);
        break;
      }
      case 'ConditionalExpression':
        expression(/** @type {Node} */ (node['consequent']));
        expression(/** @type {Node} */ (node['alternate']));
        break;
      case 'LogicalExpression':
        expression(/** @type {Node} */ (node['right']));
        break;
      case 'ArrowFunctionExpression': {
        const body = /** @type {Node} */ (node['body']);
        if (body.type !== 'BlockStatement') expression(body);
        break;
      }
      case 'Literal':
        if (typeof node['value'] === 'string' && node['value'] !== '' && node['value'].length <= MAX_WORD)
          so.words.add(node['value']);
        break;
      default:
    }
    for (const value of Object.values(node))
      for (const child of Array.isArray(value) ? value : [value])
        if (typeof child === 'object' && child !== null && typeof child.type === 'string') visit(child);
  };
  visit(/** @type {Node} */ (/** @type {unknown} */ (parseAst(code))));
  // At one place: what closes comes first, the inner one before the outer; then what opens, the outer one first.
  inserted.sort((a, b) => a.at - b.at || Number(isOpening(a)) - Number(isOpening(b)) || compare(a, b));
  let text = '';
  let from = 0;
  for (const one of inserted) {
    text += code.slice(from, one.at) + one.text;
    from = one.at;
  }
  return text + code.slice(from);
}

/** @param {{ text: string }} one */
const isOpening = ({ text }) => !text.startsWith(')') && !text.startsWith('}');
/** @param {{ order: number }} a @param {{ order: number }} b */
const compare = (a, b) => (a.order === b.order ? 0 : a.order < b.order ? -1 : 1);
