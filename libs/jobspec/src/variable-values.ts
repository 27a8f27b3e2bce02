import { Evaluator } from './evaluation/evaluator.js';
import { Scope } from './evaluation/scope.js';
import type { StepBudget } from './evaluation/step-budget.js';
import { ANY, ConversionError, convert } from './evaluation/type.js';
import { Mapping, type Value } from './evaluation/value.js';
import { parseExpression } from './syntax/body-parser.js';
import { type Diagnostic, JobspecError } from './syntax/diagnostic.js';
import { SourceText } from './syntax/source-text.js';
import type { Body } from './syntax/syntax-tree.js';
import { takesText, type Variable } from './variables.js';

/** The source of a variable's value, as messages of validations name it (JS-81). */
type Origin = 'default' | 'env' | 'varfile' | 'cmd';

export interface GivenValue {
  readonly value: Value;
  readonly origin: Origin;
}

/** The effective values of variables (JS-75 to JS-80). */
export class VariableValues {
  private readonly given = new Map<string, GivenValue>();
  private readonly constants: Evaluator;

  constructor(
    private readonly declared: ReadonlyMap<string, Variable>,
    budget: StepBudget,
    private readonly strict: boolean,
    private readonly report: (diagnostics: readonly Diagnostic[]) => void,
  ) {
    this.constants = new Evaluator(new Map(), budget, 'constant');
  }

  /** Takes values of the environment (JS-76). Undeclared names are ignored (JS-78). */
  environment(values: Readonly<Record<string, string>>): void {
    for (const [name, text] of Object.entries(values)) {
      const variable = this.declared.get(name);
      if (variable) this.fromText(variable, text, 'env');
    }
  }

  /**
   * Takes the values of a variable file. It may contain no blocks and, in strict mode, no undeclared names (JS-77,
   * JS-78).
   */
  file({ attributes, blocks, source }: Body): void {
    for (const { type, typeSpan } of blocks)
      this.report([
        type === 'variable'
          ? {
              summary: 'Variable declaration in a .var file',
              detail: 'Variables are declared in job files; a variable file only gives them values, as "name = value".',
              at: { source, span: typeSpan },
            }
          : {
              summary: `Unexpected "${type}" block`,
              detail: 'Blocks are not allowed here.',
              at: { source, span: typeSpan },
            },
      ]);
    for (const { name, nameSpan, value: expression } of attributes) {
      const variable = this.declared.get(name);
      if (!variable) {
        if (this.strict)
          this.report([
            {
              summary: 'Undefined variable',
              detail: `A "${name}" variable was set but was not found in known variables. To declare variable "${name}", place this block in your job files`,
              at: { source, span: nameSpan },
            },
          ]);
        continue;
      }
      this.attempt(variable, 'varfile', () => {
        const value = this.constants.evaluate(expression, Scope.EMPTY);
        this.set(variable, value, 'varfile', { at: { source, span: expression.span } });
      });
    }
  }

  /** Takes values of flags, as `name=value` (JS-78, JS-80). Of several with one name, the last counts. */
  flags(flags: readonly string[]): void {
    const values = new Map(
      flags
        .filter((flag) => flag.includes('='))
        .map((flag) => [flag.slice(0, flag.indexOf('=')), flag.slice(flag.indexOf('=') + 1)]),
    );
    for (const [name, text] of values) {
      const variable = this.declared.get(name);
      if (variable) this.fromText(variable, text, 'cmd');
      else if (this.strict)
        this.report([
          {
            summary: 'Undefined -var variable',
            detail: `A "${name}" variable was passed in the command line but was not found in known variables. To declare variable "${name}", place this block in your job file`,
          },
        ]);
    }
  }

  /** Returns the object `var` and the sources of its members. A variable without a value is reported (JS-79). */
  settled(): { object: Mapping; origins: ReadonlyMap<string, GivenValue> } {
    const settled = new Map<string, GivenValue>();
    for (const { name, fallback } of this.declared.values()) {
      const value =
        this.given.get(name) ?? (fallback === undefined ? undefined : { value: fallback, origin: 'default' as const });
      if (value) settled.set(name, value);
      else
        this.report([
          {
            summary: `Unset variable "${name}"`,
            detail: 'A used variable must be set or have a default value; see docs/jobspec.md for details.',
          },
        ]);
    }
    return {
      object: new Mapping(
        'object',
        [...settled].map(([name, { value }]) => [name, value]),
      ),
      origins: settled,
    };
  }

  private fromText(variable: Variable, text: string, origin: 'env' | 'cmd'): void {
    const file = `<value for var.${variable.name} from ${origin === 'env' ? 'env' : 'arguments'}>`;
    this.attempt(variable, origin, () => {
      if (takesText(variable)) return this.set(variable, text, origin, { origin: `${file}:0,0-0` });
      const expression = parseExpression(new SourceText(file, text));
      const value = this.constants.evaluate(expression, Scope.EMPTY);
      this.set(variable, value, origin, { at: { source: expression.source, span: expression.span } });
    });
  }

  /** @throws JobspecError */
  private set(variable: Variable, value: Value, origin: Origin, place: Pick<Diagnostic, 'at' | 'origin'>): void {
    const { name, type = ANY } = variable;
    try {
      this.given.set(name, { value: convert(value, type), origin });
    } catch (error) {
      if (!(error instanceof ConversionError)) throw error;
      const [summary, what] =
        origin === 'cmd'
          ? ['Invalid argument value for -var variable', `The received arg value for ${name}`]
          : ['Invalid value for variable', `The value for ${name}`];
      const detail = `${what} is not compatible with the variable's type constraint: ${error.message}.`;
      throw new JobspecError([{ summary, detail, ...place }]);
    }
  }

  /** Runs `give`. A variable with an invalid value counts as set, so it is not also reported as unset. */
  private attempt({ name }: Variable, origin: Origin, give: () => void): void {
    try {
      give();
    } catch (error) {
      if (!(error instanceof JobspecError)) throw error;
      this.report(error.diagnostics);
      this.given.set(name, { value: null, origin });
    }
  }
}
