// Small faults that could be put into a source file, each a replacement of a piece of its text. Pure: text in, list out.
import { parseSync } from 'vite';

/**
 * One fault.
 *
 * @typedef {{ readonly start: number, readonly end: number, readonly replacement: string, readonly kind: string, readonly line: number, readonly node: Place }} Mutant
 */
/** @typedef {{ readonly start: number, readonly end: number, readonly isStatement: boolean }} Place */
/** @typedef {{ type: string, start: number, end: number, [member: string]: any }} Node */

/** @type {Readonly<Record<string, string>>} */
const BINARY = {
  '<': '<=',
  '<=': '<',
  '>': '>=',
  '>=': '>',
  '===': '!==',
  '!==': '===',
  '+': '-',
  '-': '+',
  '*': '/',
  '/': '*',
};
/** @type {Readonly<Record<string, string>>} */
const METHODS = { some: 'every', every: 'some', min: 'max', max: 'min', push: 'unshift', startsWith: 'endsWith' };
/** Left out: the list as it was. */
const DROPPED_METHODS = new Set(['filter', 'toSorted', 'toReversed', 'slice', 'trim']);
/** Members of a node that are part of the same chain of members and calls. */
const SPINE = new Set(['object', 'callee', 'expression']);
/** What only tells somebody: that a line of a log is missing is no fault of behaviour. */
const TELLING = /\b(logger|log|span|metrics|meter)\b/;

/**
 * All faults of a file, in the order of its text. Types, imports and texts for people are left alone.
 *
 * @param {string} file its name, for the parser
 * @param {string} text
 * @returns {Mutant[]}
 */
export function mutantsOf(file, text) {
  const { program, errors } = parseSync(file, text);
  if (errors.length > 0) throw new Error(`${file} cannot be parsed: ${errors[0]?.message}`);
  /** @type {Mutant[]} */
  const found = [];
  const lineOf = lineFinder(text);
  walk(/** @type {any} */ (program), (node, parent, chain) =>
    mutate(node, parent, text, ({ start, end }, replacement, kind) => {
      const watched = chain ?? node;
      const place = { start: watched.start, end: watched.end, isStatement: node.type.endsWith('Statement') };
      found.push({ start, end, replacement, kind, line: lineOf(start), node: place });
    }),
  );
  return found.toSorted((a, b) => a.start - b.start || a.end - b.end);
}

/** @param {string} text @param {Mutant} mutant @returns {string} the file with the fault in it */
export const applied = (text, { start, end, replacement }) => text.slice(0, start) + replacement + text.slice(end);

/**
 * The file without a fault, which runs the probe of a fault (an expression) whenever the place of that fault is reached.
 *
 * @param {string} text
 * @param {readonly { readonly mutant: Mutant, readonly probe: string }[]} watched
 */
export function probed(text, watched) {
  /** @type {Map<string, { place: Place, probes: string[] }>} */
  const places = new Map();
  for (const { mutant, probe } of watched) {
    const { start, end } = mutant.node;
    const known = places.get(`${start}-${end}`);
    if (known === undefined) places.set(`${start}-${end}`, { place: mutant.node, probes: [probe] });
    else known.probes.push(probe);
  }
  const pieces = [...places.values()].flatMap(({ place: { start, end, isStatement }, probes }) => {
    const length = end - start;
    const [before, after] = isStatement ? [`{ ${probes.join(', ')}; `, ' }'] : [`(${probes.join(', ')}, `, ')'];
    return [
      { at: start, order: -length, text: before, begins: true },
      { at: end, order: length, text: after, begins: false },
    ];
  });
  // At one offset, an end stands before a beginning, a short place ends before a long one and begins after it.
  pieces.sort((a, b) => a.at - b.at || Number(a.begins) - Number(b.begins) || a.order - b.order);
  let done = '';
  let from = 0;
  for (const { at, text: piece } of pieces) {
    done += text.slice(from, at) + piece;
    from = at;
  }
  return done + text.slice(from);
}

/**
 * @param {Node} node
 * @param {Node | undefined} parent
 * @param {string} text
 * @param {(node: { start: number, end: number }, replacement: string, kind: string) => void} add
 */
function mutate(node, parent, text, add) {
  const source = (/** @type {Node} */ one) => text.slice(one.start, one.end);
  switch (node.type) {
    case 'BinaryExpression': {
      const other = BINARY[node.operator];
      const isText = [node.left, node.right].some(
        ({ type, value }) => type === 'TemplateLiteral' || typeof value === 'string',
      );
      if (other !== undefined && !(node.operator === '+' && isText))
        add(node, `${source(node.left)} ${other} ${source(node.right)}`, `${node.operator} → ${other}`);
      return;
    }
    case 'LogicalExpression':
      if (node.operator === '??') add(node, source(node.left), '?? dropped');
      else {
        const other = node.operator === '&&' ? '||' : '&&';
        add(node, `(${source(node.left)}) ${other} (${source(node.right)})`, `${node.operator} → ${other}`);
      }
      return;
    case 'IfStatement':
      add(node.test, 'false', 'condition → false');
      add(node.test, 'true', 'condition → true');
      return;
    case 'ConditionalExpression':
      add(node, `${source(node.test)} ? ${source(node.alternate)} : ${source(node.consequent)}`, '?: turned round');
      return;
    case 'UnaryExpression':
      if (node.operator === '!') add(node, source(node.argument), '! dropped');
      return;
    case 'ExpressionStatement': {
      const called = node.expression.type === 'AwaitExpression' ? node.expression.argument : node.expression;
      if (called.type === 'CallExpression' && called.callee.type !== 'Super' && !TELLING.test(source(called.callee)))
        add(node, ';', 'call dropped');
      else if (called.type === 'AssignmentExpression') add(node, ';', 'assignment dropped');
      return;
    }
    case 'CallExpression': {
      const { callee } = node;
      if (callee.type !== 'MemberExpression' || callee.computed) return;
      const { name } = callee.property;
      const other = Object.hasOwn(METHODS, name) ? METHODS[name] : undefined;
      if (other !== undefined) add(callee.property, other, `.${name} → .${other}`);
      if (DROPPED_METHODS.has(name)) add(node, source(callee.object), `.${name} dropped`);
      return;
    }
    case 'Literal':
      if (parent?.type === 'TSLiteralType' || parent?.type === 'Property') {
        if (parent.type === 'TSLiteralType' || parent.key === node) return;
      }
      if (typeof node.value === 'boolean') add(node, String(!node.value), `${node.value} → ${!node.value}`);
      else if (typeof node.value === 'number') add(node, `(${source(node)} + 1)`, 'number + 1');
      return;
    case 'ContinueStatement':
    case 'BreakStatement':
      if (parent?.type !== 'SwitchCase') add(node, ';', `${source(node).replace(';', '')} dropped`);
      return;
    case 'ReturnStatement':
      if (node.argument === null) add(node, ';', 'return dropped');
      return;
    default:
  }
}

/**
 * @param {Node} node
 * @param {(node: Node, parent: Node | undefined, chain: Node | undefined) => void} visit
 * @param {Node} [parent]
 * @param {Node} [chain] `a?.b.c` around the node, which cannot be taken apart
 */
function walk(node, visit, parent, chain) {
  if (/^TS(Type|Interface|Enum|Module)/.test(node.type) || node.type === 'ImportDeclaration') return;
  visit(node, parent, chain);
  for (const [name, member] of Object.entries(node)) {
    if (name === 'typeAnnotation' || name === 'typeParameters' || name === 'typeArguments' || name === 'decorators')
      continue;
    const around = node.type === 'ChainExpression' ? (chain ?? node) : SPINE.has(name) ? chain : undefined;
    for (const child of Array.isArray(member) ? member : [member])
      if (typeof child === 'object' && child !== null && typeof child.type === 'string')
        walk(child, visit, node, around);
  }
}

/** @param {string} text @returns {(offset: number) => number} the line, from 1 */
function lineFinder(text) {
  const starts = [0];
  for (let at = text.indexOf('\n'); at >= 0; at = text.indexOf('\n', at + 1)) starts.push(at + 1);
  return (offset) => starts.findLastIndex((start) => start <= offset) + 1;
}
