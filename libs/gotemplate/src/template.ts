import { BUILTINS } from './builtins.js';
import { Execution } from './execution.js';
import { TEMPLATE_LIMITS, type TemplateLimits } from './limits.js';
import { type ParsedTemplate, TemplateParser } from './parser.js';
import { type MissingKey, PipelineEvaluation } from './pipeline-evaluation.js';
import { type Blame, StepsLeft } from './steps-left.js';
import { placeAt, TemplateExecutionError, TemplateLimitError } from './template-error.js';
import { type Delimiters, TEMPLATE_DELIMITERS } from './tokens.js';
import type { TemplateFunction, TemplateFunctions } from './values.js';

export interface TemplateOptions {
  /** As errors call it; default `template`. */
  readonly name?: string;
  /** Empty ones count as not given. */
  readonly delimiters?: Partial<Delimiters>;
  /** Beside Go's own, which they may replace, but for `and`, `or` and `call`. */
  readonly functions?: TemplateFunctions;
  /** Default: a key that a map does not have is `<no value>`. */
  readonly missingKey?: MissingKey;
  readonly limits?: Partial<TemplateLimits>;
}

const DONE_BY_THE_EXECUTION = ['and', 'or', 'call'];

/** A template, read once and executed as often as wanted. Immutable; executions know nothing of each other. */
export class Template {
  private readonly name: string;
  private readonly limits: TemplateLimits;
  private readonly functions: ReadonlyMap<string, TemplateFunction>;
  private readonly missingKey: MissingKey;
  private readonly parsed: ParsedTemplate;

  /** @throws TemplateSyntaxError, TemplateLimitError */
  constructor(
    private readonly source: string,
    options: TemplateOptions = {},
  ) {
    this.name = options.name ?? 'template';
    this.limits = { ...TEMPLATE_LIMITS, ...options.limits };
    this.functions = new Map([...Object.entries(BUILTINS), ...Object.entries(options.functions ?? {})]);
    this.missingKey = options.missingKey ?? 'default';
    const delimiters = {
      left: options.delimiters?.left || TEMPLATE_DELIMITERS.left,
      right: options.delimiters?.right || TEMPLATE_DELIMITERS.right,
    };
    const hasFunction = (name: string): boolean => this.functions.has(name) || DONE_BY_THE_EXECUTION.includes(name);
    this.parsed = new TemplateParser(
      { name: this.name, source },
      { delimiters, limits: this.limits, hasFunction },
    ).parse();
  }

  /** The output for `data`, which is `.` and `$`. @throws TemplateExecutionError, TemplateLimitError */
  execute(data: unknown): string {
    const { limits, functions, missingKey } = this;
    const at = (offset: number) => placeAt(this.name, this.source, offset);
    const blame: Blame = ({ start, end }, reason, cause) => {
      const context = start === end ? '' : `at <${shortened(this.source.slice(start, end))}>: `;
      return new TemplateExecutionError(at(start), `${context}${reason}`, { cause });
    };
    const steps = new StepsLeft(limits.steps, (offset, reason) => new TemplateLimitError(at(offset), reason));
    const options = { functions, missingKey, maxLength: limits.outputLength };
    const evaluation = new PipelineEvaluation(options, steps, blame);
    return new Execution(this.parsed, { evaluation, steps, limits, blame }).runTemplate(data);
  }
}

const CONTEXT_LENGTH = 40;
const shortened = (text: string): string =>
  text.length > CONTEXT_LENGTH ? `${text.slice(0, CONTEXT_LENGTH)}...` : text;
