import type { Evaluator } from '../evaluation/evaluator.js';
import type { Scope } from '../evaluation/scope.js';
import type { Block, Body, Expression } from '../syntax/syntax-tree.js';
import { type Json, type JsonObject, jsonOf } from './json.js';

/** Decodes blocks without a schema (JS-116, JS-117). @throws JobspecError */
export class FreeformContent {
  constructor(private readonly evaluator: Evaluator) {}

  of(body: Body, scope: Scope): JsonObject {
    const content: JsonObject = {};
    for (const { name, value } of body.attributes) {
      const json = this.attribute(value, scope);
      if (json !== null) content[name] = json;
    }
    for (const name of new Set(body.blocks.map(({ type }) => type)))
      content[name] = body.blocks.filter(({ type }) => type === name).map((block) => this.block(block, scope));
    return content;
  }

  /** Decodes a block. Each label adds one level. */
  private block({ body, labels }: Block, scope: Scope): JsonObject {
    return labels.reduceRight<JsonObject>((inner, { text }) => ({ [text]: [inner] }), this.of(body, scope));
  }

  /** Decodes an attribute. An object literal directly after `=` equals a block of that name. */
  private attribute(expression: Expression, scope: Scope): Json {
    const value = this.evaluator.evaluate(expression, scope);
    const json = this.evaluator.located(expression, expression.span, () => jsonOf(value));
    return expression.type === 'object' ? [json] : json;
  }
}
