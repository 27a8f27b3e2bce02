import { parseExpression } from '../syntax/body-parser.js';
import { JobspecError } from '../syntax/diagnostic.js';
import type { QuotedText } from '../syntax/template-parser.js';
import type { SourceText, Span } from '../syntax/source-text.js';
import type { Attribute, Block, Body, Expression, Label, ObjectItem } from '../syntax/syntax-tree.js';

/**
 * Names the blocks of a format, because JSON does not distinguish them from attributes. A `Schema` contains this
 * information too.
 */
export interface JsonProfile {
  readonly blocks: Readonly<Record<string, JsonBlock>>;
}

export interface JsonBlock {
  /** Present if the block has a label. */
  readonly label?: string;
  /** Format of the block's body. Absent if it only has attributes. */
  readonly schema?: JsonProfile;
}

/**
 * Converts a file in HCL's JSON profile to the body that it would be in HCL (JS-6): labels are keys of objects, a
 * repeated block is a list. JSON is parsed as an expression, so every part keeps its position.
 * @param strings templates, unless the format has no expressions
 * @throws JobspecError
 */
export function bodyOfJson(source: SourceText, profile: JsonProfile, strings: QuotedText = 'template'): Body {
  const file = parseExpression(source, strings);
  if (file.type !== 'object') throw failure(source, file.span, 'The file must be one JSON object.');
  return bodyOf(source, file, profile);
}

type ObjectExpression = Extract<Expression, { readonly type: 'object' }>;

/** @param profile undefined if the body only has attributes */
function bodyOf(source: SourceText, { items, span }: ObjectExpression, profile: JsonProfile | undefined): Body {
  const attributes: Attribute[] = [];
  const blocks: Block[] = [];
  for (const item of items) {
    const name = keyOf(source, item);
    const rule = profile && Object.hasOwn(profile.blocks, name.text) ? profile.blocks[name.text] : undefined;
    const objects = rule && objectsIn(item.value);
    if (rule && objects)
      for (const item of objects.flatMap((object) => blocksOf(source, name, rule, object))) blocks.push(item);
    else attributes.push({ name: name.text, nameSpan: name.span, value: item.value });
  }
  return { source, attributes, blocks, span };
}

/** Returns one block, or one for each label. */
function blocksOf(source: SourceText, type: Label, rule: JsonBlock, object: ObjectExpression): Block[] {
  const block = (body: ObjectExpression, labels: readonly Label[]): Block => ({
    type: type.text,
    typeSpan: type.span,
    labels,
    openSpan: { start: body.span.start, end: body.span.start + 1 },
    body: bodyOf(source, body, rule.schema),
    headerSpan: { start: type.span.start, end: labels.at(-1)?.span.end ?? type.span.end },
  });
  if (rule.label === undefined) return [block(object, [])];
  return object.items.flatMap((item) => {
    const bodies = objectsIn(item.value);
    if (!bodies) throw failure(source, item.value.span, `A block "${type.text}" is a JSON object below its label.`);
    return bodies.map((body) => block(body, [keyOf(source, item)]));
  });
}

/** Returns an object, or all objects of a list, or undefined for any other value. */
function objectsIn(value: Expression): readonly ObjectExpression[] | undefined {
  const values = value.type === 'tuple' ? value.items : [value];
  const objects = values.filter((one): one is ObjectExpression => one.type === 'object');
  return objects.length === values.length ? objects : undefined;
}

function keyOf(source: SourceText, { key }: ObjectItem): Label {
  if (key.type === 'literal' && typeof key.value === 'string') return { text: key.value, span: key.span };
  throw failure(source, key.span, 'A name must be a quoted string.');
}

const failure = (source: SourceText, span: Span, detail: string): JobspecError =>
  new JobspecError([{ summary: 'Invalid JSON', detail, at: { source, span } }], true);
