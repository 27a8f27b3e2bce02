// Helm templates as trees: rendered manifests, in which parts depend on values. Pure.

/** A part that is there under a condition of Helm. */
export class When {
  /** @param {string} condition @param {unknown} node */
  constructor(condition, node) {
    this.condition = condition;
    this.node = node;
  }
}

/** One of two parts, by a condition of Helm. */
export class Choice {
  /** @param {string} condition @param {unknown} met @param {unknown} otherwise */
  constructor(condition, met, otherwise) {
    this.condition = condition;
    this.met = met;
    this.otherwise = otherwise;
  }
}

/** An expression of Helm in the place of a scalar. */
export class Expression {
  /** @param {string} text without the braces */
  constructor(text) {
    this.text = text;
  }
}

/** An expression of Helm in the place of an object or a list; its text is YAML. */
export class Block {
  /** @param {string} text without the braces */
  constructor(text) {
    this.text = text;
  }
}

/** @param {unknown} node @returns {node is Record<string, any>} */
const isMap = (node) => node !== null && typeof node === 'object' && !Array.isArray(node) && !isSpecial(node);

/** @param {unknown} node */
const isSpecial = (node) =>
  node instanceof When || node instanceof Choice || node instanceof Expression || node instanceof Block;

/**
 * Adds to a tree what a variant of the manifests has and their base has not, under a condition.
 *
 * @param {any} tree the base, and what was added to it before
 * @param {any} base manifests, as they are without the condition
 * @param {any} variant the same manifests with it: more keys, more items at the end of lists, other scalars
 * @param {string} condition
 * @returns {any}
 */
export function weave(tree, base, variant, condition) {
  if (JSON.stringify(base) === JSON.stringify(variant)) return tree;
  if (Array.isArray(base) && Array.isArray(variant)) {
    const changed = base.map((item, i) => weave(tree[i], item, variant[i], condition));
    const added = variant.slice(base.length).map((item) => new When(condition, item));
    return [...changed, ...tree.slice(base.length), ...added];
  }
  if (isMap(base) && isMap(variant)) {
    const woven = { ...tree };
    for (const [key, value] of Object.entries(variant))
      woven[key] = key in base ? weave(tree[key], base[key], value, condition) : new When(condition, value);
    const lost = Object.keys(base).find((key) => !(key in variant));
    if (lost !== undefined) throw new Error(`under ${condition}, ${lost} is gone: only additions can be woven`);
    return woven;
  }
  return new Choice(condition, variant, tree);
}

/** Placeholders of expressions inside of texts, which no manifest contains. */
const [OPEN, CLOSE] = ['\uE000', '\uE001'];

/** @param {string} expression @returns {string} a part of a text that Helm replaces */
export const within = (expression) => `${OPEN}${expression}${CLOSE}`;

/** @param {string} text what Helm would take for an expression stands for itself */
const escaped = (text) => text.replaceAll('{{', '{{ "{{" }}').replaceAll(OPEN, '{{ ').replaceAll(CLOSE, ' }}');

const PLAIN = /^[A-Za-z/][\w./-]*$/;
const RESERVED = /^(true|false|yes|no|on|off|null|y|n)$/i;

/** @param {string} text */
const scalarText = (text) => (PLAIN.test(text) && !RESERVED.test(text) ? text : escaped(JSON.stringify(text)));

/** @param {string} text that a block scalar can hold as it is */
const fitsBlock = (text) => text.includes('\n') && !/[\t\r]|^\s|\n\n$| \n/.test(text);

/**
 * @param {unknown} node
 * @param {number} depth columns of indentation
 * @returns {string[]} lines of a template
 */
export function templateLines(node, depth = 0) {
  const pad = ' '.repeat(depth);
  if (Array.isArray(node)) return node.flatMap((item) => conditional(item, (one) => itemLines(one, depth)));
  if (!isMap(node)) throw new Error(`a template is an object or a list, not ${JSON.stringify(node)}`);
  return Object.entries(node).flatMap(([key, value]) =>
    conditional(value, (one) => entryLines(`${pad}${scalarText(key)}:`, one, depth)),
  );
}

/**
 * @param {unknown} node
 * @param {(node: unknown) => string[]} linesOf
 * @returns {string[]}
 */
function conditional(node, linesOf) {
  if (node instanceof When) return [`{{- if ${node.condition} }}`, ...conditional(node.node, linesOf), '{{- end }}'];
  if (node instanceof Choice) {
    const { condition, met, otherwise } = node;
    return [
      `{{- if ${condition} }}`,
      ...conditional(met, linesOf),
      '{{- else }}',
      ...conditional(otherwise, linesOf),
      '{{- end }}',
    ];
  }
  return linesOf(node);
}

/** @param {string} start @param {unknown} value @param {number} depth @returns {string[]} */
function entryLines(start, value, depth) {
  if (value instanceof Block) return [start, `{{- ${value.text} | nindent ${depth + 2} }}`];
  if (typeof value === 'string' && fitsBlock(value)) {
    const [mark, body] = value.endsWith('\n') ? ['|', value.slice(0, -1)] : ['|-', value];
    const pad = ' '.repeat(depth + 2);
    return [`${start} ${mark}`, ...body.split('\n').map((line) => (line === '' ? '' : `${pad}${escaped(line)}`))];
  }
  if (Array.isArray(value) || isMap(value)) {
    if (Object.keys(value).length === 0) return [`${start} ${Array.isArray(value) ? '[]' : '{}'}`];
    return [start, ...templateLines(value, depth + 2)];
  }
  return [`${start} ${scalar(value)}`];
}

/** @param {unknown} item @param {number} depth @returns {string[]} */
function itemLines(item, depth) {
  const pad = ' '.repeat(depth);
  if (!isMap(item) || Object.keys(item).length === 0) return [`${pad}- ${isMap(item) ? '{}' : scalar(item)}`];
  const [first = '', ...rest] = templateLines(item, depth + 2);
  if (first.startsWith('{{')) throw new Error('the first key of an item depends on a condition');
  return [`${pad}- ${first.slice(depth + 2)}`, ...rest];
}

/** @param {unknown} value */
function scalar(value) {
  if (value instanceof Expression) return `{{ ${value.text} }}`;
  return typeof value === 'string' ? scalarText(value) : JSON.stringify(value);
}
