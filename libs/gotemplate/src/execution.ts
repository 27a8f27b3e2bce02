import type { TemplateLimits } from './limits.js';
import { outputOf } from './print.js';
import { PipelineEvaluation } from './pipeline-evaluation.js';
import { Scope } from './scope.js';
import type { Block, Pipeline, Statement } from './syntax-tree.js';
import { type Blame, StepsLeft } from './steps-left.js';
import { entriesOf, isInteger, isList, isMap, isNumber, truthOf, typeOf } from './values.js';

export interface ExecutableTemplate {
  readonly main: Block;
  readonly named: ReadonlyMap<string, Block>;
}

/** What a statement does to the loop around it. */
type Flow = 'on' | 'break' | 'continue';

export interface ExecutionTools {
  readonly evaluation: PipelineEvaluation;
  readonly steps: StepsLeft;
  readonly limits: TemplateLimits;
  readonly blame: Blame;
}

/**
 * One execution of a template: walks its tree with one data value and gathers the output. Every turn of a loop, every
 * call and every character of output is counted against the limits, so it always ends.
 */
export class Execution {
  private output = '';
  private depth = 0;

  private readonly evaluation: PipelineEvaluation;
  private readonly steps: StepsLeft;
  private readonly limits: TemplateLimits;
  private readonly blame: Blame;

  constructor(
    private readonly template: ExecutableTemplate,
    { evaluation, steps, limits, blame }: ExecutionTools,
  ) {
    this.evaluation = evaluation;
    this.steps = steps;
    this.limits = limits;
    this.blame = blame;
  }

  /** @throws TemplateExecutionError, TemplateLimitError */
  runTemplate(data: unknown): string {
    this.block(this.template.main, data, new Scope(data));
    return this.output;
  }

  private block(block: Block, dot: unknown, scope: Scope): Flow {
    for (const statement of block) {
      const flow = this.statement(statement, dot, scope);
      if (flow !== 'on') return flow;
    }
    return 'on';
  }

  private statement(statement: Statement, dot: unknown, scope: Scope): Flow {
    switch (statement.kind) {
      case 'text':
        this.write(statement.text, statement.start);
        return 'on';
      case 'action': {
        const value = this.pipeline(statement.pipeline, dot, scope);
        if (statement.pipeline.variables.length === 0)
          this.write(this.text(value, statement.pipeline), statement.start);
        return 'on';
      }
      case 'if':
      case 'with':
        return this.branch(statement, dot, scope);
      case 'range':
        return this.loop(statement, dot, scope);
      case 'template':
        this.call(statement, dot, scope);
        return 'on';
      case 'break':
      case 'continue':
        return statement.kind;
    }
  }

  private branch(statement: Statement & { kind: 'if' | 'with' | 'range' }, dot: unknown, scope: Scope): Flow {
    let flow: Flow = 'on';
    scope.within(() => {
      const value = this.pipeline(statement.pipeline, dot, scope);
      if (truthOf(value)) flow = this.block(statement.body, statement.kind === 'with' ? value : dot, scope);
      else flow = this.block(statement.otherwise, dot, scope);
    });
    return flow;
  }

  private loop(statement: Statement & { kind: 'if' | 'with' | 'range' }, dot: unknown, scope: Scope): Flow {
    const { pipeline, body, otherwise, start } = statement;
    let flow: Flow = 'on';
    scope.within(() => {
      const value = this.evaluation.value(pipeline, dot, scope);
      let isEmpty = true;
      for (const [key, item] of this.turns(value, pipeline)) {
        isEmpty = false;
        this.steps.takeStep(start);
        scope.within(() => {
          setTurn(pipeline, key, item, scope);
          flow = this.block(body, item, scope);
        });
        if (flow === 'break') break;
      }
      flow = isEmpty ? this.block(otherwise, dot, scope) : 'on';
    });
    return flow;
  }

  private turns(value: unknown, pipeline: Pipeline): Iterable<readonly [key: unknown, item: unknown]> {
    if (value === null || value === undefined) return [];
    if (isList(value)) return value.entries();
    if (isMap(value)) return entriesOf(value);
    if (isNumber(value) && isInteger(value)) return countTo(Number(value));
    throw this.blame(pipeline, `range can't iterate over ${typeOf(value)}`);
  }

  private call({ name, pipeline, start: at }: Statement & { kind: 'template' }, dot: unknown, scope: Scope): void {
    const block = this.template.named.get(name);
    const data = pipeline && this.pipeline(pipeline, dot, scope);
    if (!block) throw this.blame({ start: at, end: at }, `template ${JSON.stringify(name)} not defined`);
    if (this.depth >= this.limits.depth) throw this.steps.exceeded(at, `templates call each other ${this.depth} deep`);
    this.steps.takeStep(at);
    this.depth++;
    this.block(block, data, new Scope(data));
    this.depth--;
  }

  private pipeline(pipeline: Pipeline, dot: unknown, scope: Scope): unknown {
    const value = this.evaluation.value(pipeline, dot, scope);
    this.evaluation.bind(pipeline, value, scope);
    return value;
  }

  private text(value: unknown, pipeline: Pipeline): string {
    if (typeof value === 'function') throw this.blame(pipeline, `can't print ${typeOf(value)}`);
    return outputOf(value);
  }

  private write(text: string, at: number): void {
    if (this.output.length + text.length > this.limits.outputLength)
      throw this.steps.exceeded(at, `output is longer than ${this.limits.outputLength}`);
    this.output += text;
  }
}

/** One variable gets the item, two get key and item. */
function setTurn({ variables, assigns }: Pipeline, key: unknown, item: unknown, scope: Scope): void {
  const set = (name: string | undefined, value: unknown): void => {
    if (name !== undefined) scope[assigns ? 'assign' : 'declare'](name, value);
  };
  const [first, second] = variables;
  if (second === undefined) return set(first, item);
  set(first, key);
  set(second, item);
}

function* countTo(end: number): Generator<readonly [number, number]> {
  for (let at = 0; at < end; at++) yield [at, at];
}
