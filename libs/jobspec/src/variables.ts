import { Evaluator } from './evaluation/evaluator.js';
import { Scope } from './evaluation/scope.js';
import type { StepBudget } from './evaluation/step-budget.js';
import { ANY, ConversionError, convert, nameOf, STRING, type Type, typeOf } from './evaluation/type.js';
import { typeFrom } from './evaluation/type-expression.js';
import type { Value } from './evaluation/value.js';
import { nearest } from './nearest-name.js';
import { type Diagnostic, JobspecError } from './syntax/diagnostic.js';
import type { SourceText, Span } from './syntax/source-text.js';
import type { Attribute, Block, Expression } from './syntax/syntax-tree.js';

export interface Validation {
  readonly condition: Expression;
  readonly message: Expression;
  readonly block: Block;
}

export interface Variable {
  readonly name: string;
  readonly type: Type | undefined;
  /** Undefined if there is no default. Null is a default (JS-79). */
  readonly fallback: Value | undefined;
  readonly validations: readonly Validation[];
}

const NAME = /^[\p{L}_][\p{L}\p{Nd}_-]*$/u;
const ATTRIBUTES = ['type', 'default', 'description'];

/** The declarations of a file (JS-71 to JS-74). `report` gets all errors. */
export class VariableDeclarations {
  private readonly found = new Map<string, Variable>();
  private readonly constants: Evaluator;

  constructor(
    budget: StepBudget,
    private readonly report: (diagnostics: readonly Diagnostic[]) => void,
  ) {
    this.constants = new Evaluator(new Map(), budget, 'constant');
  }

  get variables(): ReadonlyMap<string, Variable> {
    return this.found;
  }

  /** Adds `variable "x" { … }`. */
  add(block: Block): void {
    const [label] = block.labels;
    if (!label) return;
    const { source } = block.body;
    if (!NAME.test(label.text))
      return this.refuse(
        source,
        label.span,
        'Invalid variable name',
        'A name must start with a letter or underscore and may contain only letters, digits, underscores, and dashes.',
      );
    for (const { name, nameSpan } of block.body.attributes.filter((one) => !ATTRIBUTES.includes(one.name)))
      this.refuse(
        source,
        nameSpan,
        'Unsupported argument',
        `An argument named "${name}" is not expected here.${hint(name, ATTRIBUTES)}`,
      );
    for (const { type, typeSpan } of block.body.blocks.filter((one) => one.type !== 'validation'))
      this.refuse(
        source,
        typeSpan,
        'Unsupported block type',
        `Blocks of type "${type}" are not expected here.${hint(type, ['validation'])}`,
      );
    const type = this.typeOf(attributeOf(block, 'type'));
    const fallback = this.fallbackOf(attributeOf(block, 'default'), type);
    const validations = block.body.blocks
      .filter((one) => one.type === 'validation')
      .flatMap((one) => this.validation(one));
    this.declare(
      {
        name: label.text,
        type: type ?? (fallback === undefined ? undefined : typeOf(fallback)),
        fallback,
        validations,
      },
      source,
      label.span,
    );
  }

  /** Adds the variables of `variables { a = 1 }` (JS-74). */
  addAll({ body }: Block): void {
    for (const attribute of body.attributes) {
      const fallback = this.fallbackOf(attribute, undefined);
      const type = fallback === undefined ? undefined : typeOf(fallback);
      this.declare({ name: attribute.name, type, fallback, validations: [] }, body.source, attribute.nameSpan);
    }
  }

  private declare(variable: Variable, source: SourceText, span: Span): void {
    if (this.found.has(variable.name))
      return this.refuse(source, span, 'Duplicate variable', `Duplicate ${variable.name} variable definition found.`);
    this.found.set(variable.name, variable);
  }

  private typeOf(attribute: Attribute | undefined): Type | undefined {
    return attribute && this.collecting(() => typeFrom(attribute.value));
  }

  private fallbackOf(attribute: Attribute | undefined, type: Type | undefined): Value | undefined {
    if (!attribute) return undefined;
    const { value: expression } = attribute;
    return this.collecting(() => {
      const value = this.constants.evaluate(expression, Scope.EMPTY);
      try {
        return convert(value, type ?? ANY);
      } catch (error) {
        if (!(error instanceof ConversionError)) throw error;
        throw this.constants.failure(
          expression,
          expression.span,
          'Invalid default value for variable',
          `This default value is not compatible with the variable's type constraint: ${error.message}.`,
        );
      }
    });
  }

  /** Parses a `validation` block, which requires a condition and an error message (JS-81, JS-82). */
  private validation(block: Block): Validation[] {
    const [condition, message] = [attributeOf(block, 'condition'), attributeOf(block, 'error_message')];
    for (const [name, attribute] of [
      ['condition', condition],
      ['error_message', message],
    ] as const) {
      if (!attribute)
        this.refuse(
          block.body.source,
          block.openSpan,
          'Missing required argument',
          `The argument "${name}" is required, but no definition was found.`,
        );
    }
    return condition && message ? [{ condition: condition.value, message: message.value, block }] : [];
  }

  private collecting<T>(make: () => T): T | undefined {
    try {
      return make();
    } catch (error) {
      if (!(error instanceof JobspecError)) throw error;
      this.report(error.diagnostics);
      return undefined;
    }
  }

  private refuse(source: SourceText, span: Span, summary: string, detail: string): void {
    this.report([{ summary, detail, at: { source, span } }]);
  }
}

/** Whether a value from the environment or a flag is taken as text instead of an expression (JS-76). */
export function takesText({ type }: Variable): boolean {
  return type === undefined || nameOf(type) === nameOf(STRING) || type.kind === 'number';
}

function attributeOf({ body }: Block, wanted: string): Attribute | undefined {
  return body.attributes.find(({ name }) => name === wanted);
}

function hint(name: string, known: readonly string[]): string {
  const near = nearest(name, known);
  return near === undefined ? '' : ` Did you mean "${near}"?`;
}
