import { type Evaluator, elementsOf } from '../evaluation/evaluator.js';
import type { Scope } from '../evaluation/scope.js';
import { toText } from '../evaluation/type.js';
import { Mapping, Sequence, typeName, type Value } from '../evaluation/value.js';
import { type Diagnostic, JobspecError } from '../syntax/diagnostic.js';
import type { SourceText, Span } from '../syntax/source-text.js';
import type { Attribute, Block, Body, Expression, Label } from '../syntax/syntax-tree.js';

/** A block as it counts: written, or made by a `dynamic` one, with the names its body may use. */
export interface Occurrence {
  readonly type: string;
  readonly typeSpan: Span;
  readonly labels: readonly Label[];
  /** Where a missing label is missed. */
  readonly openSpan: Span;
  readonly body: Body;
  readonly scope: Scope;
}

/** How many labels a known type of block has; undefined for an unknown type. */
export type LabelCount = (type: string) => number | undefined;

/** The blocks of a body in order, each `dynamic` one replaced by those that it stands for (JS-100 to JS-103). */
export class BlockOccurrences {
  constructor(
    private readonly evaluator: Evaluator,
    private readonly report: (diagnostics: readonly Diagnostic[]) => void,
  ) {}

  of(body: Body, scope: Scope, labelCount: LabelCount): Occurrence[] {
    return body.blocks.flatMap((block) => {
      if (block.type !== 'dynamic') return [{ ...block, scope }];
      try {
        return this.generated(block, scope, labelCount);
      } catch (error) {
        if (!(error instanceof JobspecError)) throw error;
        this.report(error.diagnostics);
        return [];
      }
    });
  }

  private generated(block: Block, scope: Scope, labelCount: LabelCount): Occurrence[] {
    const [label, extra] = block.labels;
    const { source } = block.body;
    if (!label)
      throw failure(
        source,
        block.openSpan,
        'Missing name for dynamic',
        'All dynamic blocks must have 1 labels (type).',
      );
    if (extra)
      throw failure(
        source,
        extra.span,
        'Extraneous label for dynamic',
        'Only 1 labels (type) are expected for dynamic blocks.',
      );
    const count = labelCount(label.text);
    // An unknown type is refused where all unknown blocks are, at its name.
    if (count === undefined) return [{ ...block, type: label.text, typeSpan: label.span, scope }];
    const content = this.content(block);
    const name = this.iteratorName(block) ?? label.text;
    const labels = this.labelExpressions(block, label.text, count);
    return this.elements(block, scope).map(([key, value]) => {
      const iterator = new Mapping('object', [
        ['key', key],
        ['value', value],
      ]);
      const inner = scope.with([[name, iterator]]);
      this.evaluator.located(labels.at, labels.at.span, () => this.evaluator.budget.generate());
      return {
        type: label.text,
        typeSpan: label.span,
        labels: labels.items.map((expression) => this.label(expression, inner)),
        openSpan: content.openSpan,
        body: content.body,
        scope: inner,
      };
    });
  }

  private content({ body, typeSpan, labels }: Block): Block {
    const [content, second] = body.blocks.filter(({ type }) => type === 'content');
    const stranger = body.blocks.find(({ type }) => type !== 'content') ?? second;
    if (stranger)
      throw failure(
        body.source,
        stranger.typeSpan,
        'Extraneous dynamic content block',
        'A dynamic block has one nested block, of type "content".',
      );
    if (content) return content;
    throw failure(
      body.source,
      labels[0]?.span ?? typeSpan,
      'Missing dynamic content block',
      'A dynamic block must have a nested block of type "content" to describe the body of each generated block.',
    );
  }

  /** JS-101: a bare name. */
  private iteratorName(block: Block): string | undefined {
    const value = attribute(block, 'iterator')?.value;
    if (value === undefined) return undefined;
    if (value.type === 'reference' && value.steps.length === 0) return value.root;
    throw failure(
      value.source,
      value.span,
      'Invalid expression',
      'A single static variable name is required: only a bare name can be an iterator.',
    );
  }

  /** Finds the labels of a dynamic block: exactly as many as the block type has (JS-102). */
  private labelExpressions(
    block: Block,
    type: string,
    count: number,
  ): { at: Expression; items: readonly Expression[] } {
    const each = attribute(block, 'for_each');
    if (!each) throw missingArgument(block, 'for_each');
    const stranger = block.body.attributes.find(({ name }) => !['for_each', 'iterator', 'labels'].includes(name));
    if (stranger)
      throw failure(
        block.body.source,
        stranger.nameSpan,
        'Unsupported argument',
        `An argument named "${stranger.name}" is not expected here.`,
      );
    const labels = attribute(block, 'labels');
    if (!labels) {
      if (count > 0) throw missingArgument(block, 'labels');
      return { at: each.value, items: [] };
    }
    const { value } = labels;
    if (value.type !== 'tuple')
      throw failure(value.source, value.span, 'Invalid expression', 'A static list expression is required.');
    if (value.items.length > count)
      throw failure(
        value.source,
        value.items[count]?.span ?? value.span,
        'Extraneous dynamic block label',
        `Blocks of type "${type}" require ${count} label(s).`,
      );
    if (value.items.length < count)
      throw failure(
        value.source,
        value.span,
        'Insufficient dynamic block labels',
        `Blocks of type "${type}" require ${count} label(s).`,
      );
    return { at: each.value, items: value.items };
  }

  private elements(block: Block, scope: Scope): (readonly [Value, Value])[] {
    const expression = attribute(block, 'for_each')?.value;
    if (!expression) throw missingArgument(block, 'for_each');
    const value = this.evaluator.evaluate(expression, scope);
    const refused = (detail: string): JobspecError =>
      failure(expression.source, expression.span, 'Invalid dynamic for_each value', detail);
    if (value === null) throw refused('Cannot use a null value in for_each.');
    const elements = elementsOf(value);
    if (elements) return elements;
    throw refused(`Cannot use a ${typeName(value)} value in for_each. An iterable collection is required.`);
  }

  private label(expression: Expression, scope: Scope): Label {
    const value = this.evaluator.evaluate(expression, scope);
    const { source, span } = expression;
    if (value === null)
      throw failure(source, span, 'Invalid dynamic block label', 'Cannot use a null value as a dynamic block label.');
    if (value instanceof Sequence || value instanceof Mapping)
      throw failure(
        source,
        span,
        'Invalid dynamic block label',
        `Cannot use this value as a dynamic block label: string required, but have ${typeName(value)}.`,
      );
    return { text: toText(value), span };
  }
}

const attribute = ({ body }: Block, wanted: string): Attribute | undefined =>
  body.attributes.find(({ name }) => name === wanted);

function missingArgument({ body, labels, typeSpan }: Block, name: string): JobspecError {
  return failure(
    body.source,
    labels[0]?.span ?? typeSpan,
    'Missing required argument',
    `The argument "${name}" is required, but no definition was found.`,
  );
}

function failure(source: SourceText, span: Span, summary: string, detail: string): JobspecError {
  return new JobspecError([{ summary, detail, at: { source, span } }]);
}
