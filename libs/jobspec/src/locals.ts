import type { Evaluator } from './evaluation/evaluator.js';
import type { Scope } from './evaluation/scope.js';
import { Mapping, type Value } from './evaluation/value.js';
import { MAX_LOCALS } from './limits.js';
import { type Diagnostic, JobspecError } from './syntax/diagnostic.js';
import { referencesIn } from './syntax/references.js';
import type { Attribute, Block } from './syntax/syntax-tree.js';

/**
 * The names of all `locals` blocks, each evaluated after the ones that it refers to (JS-83). A name in a cycle is
 * undefined in its own evaluation.
 */
export class Locals {
  private readonly definitions = new Map<string, Attribute>();
  private readonly values = new Map<string, Value>();
  private readonly begun = new Set<string>();

  constructor(
    private readonly evaluator: Evaluator,
    private readonly report: (diagnostics: readonly Diagnostic[]) => void,
  ) {}

  /** @throws JobspecError if there are too many */
  add({ body }: Block): void {
    for (const attribute of body.attributes) {
      if (this.definitions.size >= MAX_LOCALS)
        throw new JobspecError([
          {
            summary: 'Too many locals',
            detail: `A job file may have ${MAX_LOCALS} of them.`,
            at: { source: body.source, span: attribute.nameSpan },
          },
        ]);
      if (this.definitions.has(attribute.name))
        this.report([
          {
            summary: 'Duplicate value in locals',
            detail: `Duplicate ${attribute.name} definition found.`,
            at: { source: body.source, span: attribute.nameSpan },
          },
        ]);
      else this.definitions.set(attribute.name, attribute);
    }
  }

  /** Returns the object `local`. */
  settled(scope: Scope): Mapping {
    for (const attribute of this.definitions.values()) this.settle(attribute, scope);
    return new Mapping('object', this.values);
  }

  private settle(attribute: Attribute, scope: Scope): void {
    if (this.begun.has(attribute.name)) return;
    this.begun.add(attribute.name);
    for (const name of namesUsedBy(attribute)) {
      const other = this.definitions.get(name);
      if (other) this.settle(other, scope);
    }
    try {
      const local = new Mapping('object', this.values);
      this.values.set(attribute.name, this.evaluator.evaluate(attribute.value, scope.with([['local', local]])));
    } catch (error) {
      if (!(error instanceof JobspecError)) throw error;
      this.report(error.diagnostics);
      // Avoids another diagnostic at every reference to this name.
      this.values.set(attribute.name, null);
    }
  }
}

function namesUsedBy({ value }: Attribute): string[] {
  return referencesIn(value)
    .filter(({ root }) => root === 'local')
    .flatMap(({ steps: [step] }) => (step?.kind === 'attribute' ? [step.name] : []));
}
