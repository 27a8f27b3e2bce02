import type { Evaluator } from '../evaluation/evaluator.js';
import type { Scope } from '../evaluation/scope.js';
import { nearest } from '../nearest-name.js';
import { type Diagnostic, JobspecError } from '../syntax/diagnostic.js';
import type { SourceText, Span } from '../syntax/source-text.js';
import type { Attribute, Body } from '../syntax/syntax-tree.js';
import { attributeValue, UnsuitableValue } from './attribute-value.js';
import { BlockOccurrences, type Occurrence } from './block-occurrences.js';
import { unshapedOf } from './empty-object.js';
import { FreeformContent } from './freeform-content.js';
import type { Json, JsonObject } from './json.js';
import { type AttributeType, type BlockRule, isSingular, type Schema, type Written } from './schema.js';

/**
 * Decodes bodies into JSON by their schemas (JS-110 to JS-117). Decoding continues after every error. `diagnostics`
 * holds the errors of structure and values. `freeformDiagnostics` holds the errors of blocks without a schema, which
 * are reported only if there are no others (JS-1).
 */
export class BlockDecoder {
  readonly diagnostics: Diagnostic[] = [];
  readonly freeformDiagnostics: Diagnostic[] = [];
  private readonly occurrences: BlockOccurrences;
  private readonly freeform: FreeformContent;

  constructor(private readonly evaluator: Evaluator) {
    this.occurrences = new BlockOccurrences(evaluator, (found) => {
      for (const item of found) this.diagnostics.push(item);
    });
    this.freeform = new FreeformContent(evaluator);
  }

  /** @param labelKey JSON key of the block's label, if it has one */
  decode(schema: Schema, block: Occurrence, labelKey?: string): JsonObject {
    const { body, scope, openSpan } = block;
    const json = unshapedOf(schema);
    if (labelKey !== undefined) json[labelKey] = block.labels[0]?.text ?? '';
    const values = this.attributes(schema, body, scope, json);
    this.requireAll(schema, values.names, body.source, openSpan);
    this.blocks(schema, body, scope, json);
    if (!schema.shape) return json;
    const spanOf = (name?: string): Span =>
      body.attributes.find((attribute) => attribute.name === name)?.value.span ?? block.typeSpan;
    const refuse: Written['refuse'] = (summary, detail, attribute) =>
      this.report(summary, detail, body.source, spanOf(attribute));
    return schema.shape(json, { values: values.given, refuse });
  }

  private attributes(
    schema: Schema,
    body: Body,
    scope: Scope,
    json: JsonObject,
  ): { given: Map<string, Json>; names: Set<string> } {
    const given = new Map<string, Json>();
    const names = new Set<string>();
    for (const attribute of body.attributes) {
      const rule = own(schema.attributes, attribute.name);
      const block = own(schema.blocks, attribute.name);
      if (rule) {
        const value = this.value(attribute, rule.type, scope, rule.named === true);
        names.add(attribute.name);
        if (value === undefined) continue;
        given.set(attribute.name, value);
        json[rule.json] = value;
      } else if (block?.kind === 'map' && block.assignable) {
        json[block.json] = this.value(attribute, block.type, scope, false) ?? null;
      } else {
        this.report(...unknownAttribute(attribute.name, schema), body.source, attribute.nameSpan);
      }
    }
    return { given, names };
  }

  /** Returns undefined if the value is unset or refused. */
  private value({ name, value }: Attribute, type: AttributeType, scope: Scope, named: boolean): Json | undefined {
    return this.collecting(this.diagnostics, () => {
      const evaluated = this.evaluator.evaluate(value, scope);
      try {
        return attributeValue(evaluated, type);
      } catch (error) {
        if (!(error instanceof UnsuitableValue)) throw error;
        const [summary, detail] = named
          ? ['Incorrect attribute value type', `Inappropriate value for attribute "${name}": ${error.reason}.`]
          : [error.summary, error.detail];
        throw this.evaluator.failure(value, value.span, summary, detail);
      }
    });
  }

  private requireAll(schema: Schema, given: ReadonlySet<string>, source: SourceText, span: Span): void {
    for (const [name, { required }] of Object.entries(schema.attributes)) {
      if (required !== true || given.has(name)) continue;
      this.report(
        'Missing required argument',
        `The argument "${name}" is required, but no definition was found.`,
        source,
        span,
      );
    }
  }

  private blocks(schema: Schema, body: Body, scope: Scope, json: JsonObject): void {
    const { source } = body;
    const first = new Map<string, Occurrence>();
    for (const block of this.occurrences.of(body, scope, (type) => labelsOf(own(schema.blocks, type)))) {
      const rule = own(schema.blocks, block.type);
      if (!rule) {
        this.report(...unknownBlock(block.type, schema), source, block.typeSpan);
        continue;
      }
      if (!this.hasItsLabels(rule, block)) continue;
      const before = first.get(block.type);
      if (before && isSingular(rule)) {
        this.report(
          `Duplicate ${block.type} block`,
          `Only one ${block.type} block is allowed. Another was defined at ${source.rangeOf(before.typeSpan)}.`,
          source,
          block.typeSpan,
        );
        continue;
      }
      if (!before && this.isAlsoAttribute(block, body)) continue;
      first.set(block.type, before ?? block);
      this.place(rule, block, json);
    }
  }

  private place(rule: BlockRule, block: Occurrence, json: JsonObject): void {
    const { body, scope } = block;
    if (rule.kind === 'freeform') {
      json[rule.json] = this.collecting(this.freeformDiagnostics, () => this.freeform.of(body, scope)) ?? null;
    } else if (rule.kind === 'map') {
      json[rule.json] = this.mapOf(rule.type, body, scope);
    } else {
      const object = this.decode(rule.schema, block, rule.labelKey);
      const placed = json[rule.json];
      json[rule.json] = rule.many ? [...(Array.isArray(placed) ? placed : []), object] : object;
    }
  }

  /** Decodes a map block, which holds attributes only; a null value is refused (JS-114). */
  private mapOf(type: 'stringMap' | 'stringsMap', body: Body, scope: Scope): JsonObject {
    const content: JsonObject = {};
    for (const attribute of body.attributes) {
      const value = this.value(attribute, type === 'stringMap' ? 'string' : 'strings', scope, false);
      if (value === undefined) this.refuseNull(attribute);
      else content[attribute.name] = value;
    }
    for (const { type: name, typeSpan } of body.blocks)
      this.report('Unsupported block type', `Blocks of type "${name}" are not expected here.`, body.source, typeSpan);
    return content;
  }

  /** Refuses null. A value that was already refused has its diagnostic at the same place. */
  private refuseNull({ value: { source, span } }: Attribute): void {
    const refused = this.diagnostics.some(
      ({ at }) => at !== undefined && at.span.start >= span.start && at.span.end <= span.end,
    );
    if (!refused) this.report('Unsuitable value type', 'Unsuitable value: null value is not allowed', source, span);
  }

  /** Checks that a block has exactly the labels of its rule, and reports any other number (JS-111). */
  private hasItsLabels(rule: BlockRule, { type, labels, openSpan, body }: Occurrence): boolean {
    const count = labelCount(rule);
    const name = rule.label ?? '';
    if (labels.length === count) return true;
    if (labels.length < count) {
      this.report(
        `Missing ${name} for ${type}`,
        `All ${type} blocks must have 1 labels (${name}).`,
        body.source,
        openSpan,
      );
      return false;
    }
    const expected = count === 0 ? 'No labels' : `Only 1 labels (${name})`;
    this.report(
      `Extraneous label for ${type}`,
      `${expected} are expected for ${type} blocks.`,
      body.source,
      labels[count]?.span ?? openSpan,
    );
    return false;
  }

  /** Checks whether the body also sets the block's name as an attribute, and reports that duplicate (JS-115). */
  private isAlsoAttribute({ type, typeSpan }: Occurrence, { attributes, source }: Body): boolean {
    const attribute = attributes.find(({ name }) => name === type);
    if (!attribute) return false;
    this.report(
      `Duplicate ${type} block`,
      `${type} may not be defined more than once. Another definition is defined at ${source.rangeOf(attribute.nameSpan)}.`,
      source,
      typeSpan,
    );
    return true;
  }

  private collecting<T>(into: Diagnostic[], make: () => T): T | undefined {
    try {
      return make();
    } catch (error) {
      if (!(error instanceof JobspecError)) throw error;
      for (const item of error.diagnostics) into.push(item);
      return undefined;
    }
  }

  private report(summary: string, detail: string, source: SourceText, span: Span): void {
    this.diagnostics.push({ summary, detail, at: { source, span } });
  }
}

const labelCount = (rule: BlockRule): number => (rule.label === undefined ? 0 : 1);

const labelsOf = (rule: BlockRule | undefined): number | undefined => rule && labelCount(rule);

/** Returns an own member of the table, not an inherited one such as `constructor`. */
function own<T>(table: Readonly<Record<string, T>>, name: string): T | undefined {
  return Object.hasOwn(table, name) ? table[name] : undefined;
}

/** Describes an unknown attribute and suggests a near attribute, or the block of that name (JS-110). */
function unknownAttribute(name: string, { attributes, blocks }: Schema): [string, string] {
  const assignable = Object.keys(blocks).filter((type) => {
    const rule = blocks[type];
    return rule?.kind === 'map' && rule.assignable;
  });
  const near = nearest(name, [...Object.keys(attributes), ...assignable]);
  const hint = Object.hasOwn(blocks, name) ? ` Did you mean to define a block of type "${name}"?` : suggestion(near);
  return ['Unsupported argument', `An argument named "${name}" is not expected here.${hint}`];
}

/** Describes an unknown block and suggests a near block, or the attribute of that name (JS-110). */
function unknownBlock(type: string, { attributes, blocks }: Schema): [string, string] {
  const hint = Object.hasOwn(attributes, type)
    ? ` Did you mean to define argument "${type}"? If so, use the equals sign to assign it a value.`
    : suggestion(nearest(type, Object.keys(blocks)));
  return ['Unsupported block type', `Blocks of type "${type}" are not expected here.${hint}`];
}

const suggestion = (near: string | undefined): string => (near === undefined ? '' : ` Did you mean "${near}"?`);
