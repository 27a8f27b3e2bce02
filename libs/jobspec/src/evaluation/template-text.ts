import type { ExpressionEvaluation } from './expression-evaluation.js';
import type { Expression, TemplatePart } from '../syntax/syntax-tree.js';
import type { Scope } from './scope.js';
import { toText } from './type.js';
import { Mapping, Sequence, typeName, type Value } from './value.js';

/** Evaluates templates to text (JS-19 to JS-23), or to the value of their only interpolation (JS-20). */
export class TemplateText {
  constructor(private readonly evaluator: ExpressionEvaluation) {}

  valueOf(parts: readonly TemplatePart[], whole: Expression, scope: Scope): Value {
    const [only] = parts;
    if (parts.length === 1 && only?.kind === 'interpolation') return this.interpolated(only, scope);
    return this.evaluator.located(whole, whole.span, () => this.textOf(parts, whole, scope));
  }

  private textOf(parts: readonly TemplatePart[], whole: Expression, scope: Scope): string {
    const { budget } = this.evaluator;
    return this.evaluator.nested(whole, () => {
      let text = '';
      for (const part of parts) {
        text += this.partText(part, whole, scope);
        budget.text(text);
      }
      return text;
    });
  }

  private partText(part: TemplatePart, whole: Expression, scope: Scope): string {
    switch (part.kind) {
      case 'text':
        return part.text;
      case 'interpolation':
        return this.printed(part, scope);
      case 'if': {
        const holds = this.evaluator.boolean(
          part.condition,
          scope,
          'Incorrect condition type',
          'The condition of a template directive must be of type bool.',
        );
        return this.textOf(holds ? part.whenTrue : part.whenFalse, whole, scope);
      }
      case 'for':
      default:
        return this.evaluator
          .iterations(part, scope)
          .map((inner) => this.textOf(part.body, whole, inner))
          .join('');
    }
  }

  private printed(part: Extract<TemplatePart, { kind: 'interpolation' }>, scope: Scope): string {
    const value = this.interpolated(part, scope);
    const refused = (detail: string): Error =>
      this.evaluator.failure(part.value, part.value.span, 'Invalid template interpolation value', detail);
    if (value === null)
      throw refused('The expression result is null. Cannot include a null value in a string template.');
    if (value instanceof Sequence || value instanceof Mapping)
      throw refused(
        `Cannot include the given value in a string template: string required, but have ${typeName(value)}.`,
      );
    return toText(value);
  }

  /** Evaluates an interpolation. A runtime reference keeps its delimiters as they were written (JS-61). */
  private interpolated({ value, verbatim }: Extract<TemplatePart, { kind: 'interpolation' }>, scope: Scope): Value {
    const result = this.evaluator.evaluate(value, scope);
    return value.type === 'reference' && !scope.has(value.root) ? verbatim : result;
  }
}
