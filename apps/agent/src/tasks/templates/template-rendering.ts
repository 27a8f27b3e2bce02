import type { Clock, Template as TemplateSpec } from '@waybill/model';
import { rfc3339FromMs } from '@waybill/model';
import { Template, TemplateFunctionError, type TemplateFunctions } from '@waybill/gotemplate';
import { loginFunctions } from './login-functions.js';
import { chosenServices } from './server-reads.js';
import { TEMPLATE_FUNCTIONS } from './template-functions.js';
import type { TemplateInputs } from './template-inputs.js';
import type { ListedVariable, VariableValue } from './template-source.js';

/** The limits of a rendering. It blocks the agent, so it must take no more than some tens of milliseconds. */
const LIMITS = { steps: 50_000, outputLength: 4 * 1024 * 1024, sourceLength: 256 * 1024 };

export interface TemplateFacts {
  readonly inputs: TemplateInputs;
  /** Returns a value of the task's environment or of the machine's attributes: `env "attr.cpu.arch"`. */
  readonly lookup: (name: string) => string | undefined;
  readonly clock: Clock;
}

/** TemplateRendering is one parsed template of a task. */
export class TemplateRendering {
  private readonly template: Template;

  /** @throws TemplateError if the text is not a template */
  constructor(
    readonly spec: TemplateSpec,
    text: string,
    facts: TemplateFacts,
  ) {
    this.template = new Template(text, {
      name: spec.DestPath,
      delimiters: { left: spec.LeftDelim, right: spec.RightDelim },
      functions: { ...TEMPLATE_FUNCTIONS, ...factFunctions(facts), ...loginFunctions(facts.inputs) },
      missingKey: spec.ErrMissingKey ? 'error' : 'default',
      limits: LIMITS,
    });
    this.inputs = facts.inputs;
  }

  private readonly inputs: TemplateInputs;

  /** Returns the rendered text, or the inputs that are missing. @throws TemplateError */
  render(): { readonly text: string } | { readonly missing: readonly string[] } {
    this.inputs.drainMissing();
    try {
      const text = this.template.execute(null);
      const missing = this.inputs.drainMissing();
      return missing.length > 0 ? { missing } : { text };
    } catch (error) {
      // The failure may come from a missing input, for instance a key of a variable.
      const missing = this.inputs.drainMissing();
      if (missing.length === 0 || this.inputs.areTooMany) throw error;
      return { missing };
    }
  }
}

function factFunctions({ inputs, lookup, clock }: TemplateFacts): TemplateFunctions {
  const name = (value: unknown): string => {
    if (typeof value === 'string' && value !== '') return value;
    throw new TemplateFunctionError('a name is wanted');
  };
  const listed = (prefix: unknown): readonly ListedVariable[] => {
    if (typeof prefix !== 'string') throw new TemplateFunctionError('the beginning of a path is wanted');
    return (inputs.readInput('variables', prefix) ?? []) as readonly ListedVariable[];
  };
  return {
    env: (key) => lookup(name(key)) ?? '',
    envOrDefault: (key, otherwise) => lookup(name(key)) || otherwise,
    mustEnv: (key) => {
      const value = lookup(name(key));
      if (value === undefined) throw new TemplateFunctionError(`environment variable "${name(key)}" is not set`);
      return value;
    },
    file: (path) => inputs.readInput('file', name(path)) ?? '',
    nomadService: (...values) => {
      const services = (inputs.readInput('service', name(values.at(-1))) ?? []) as readonly { readonly ID: string }[];
      if (values.length === 1) return services;
      if (values.length !== 3 || typeof values[0] !== 'number')
        throw new TemplateFunctionError('nomadService takes a name, or a count, a key and a name');
      return chosenServices(services, values[0], name(values[1]));
    },
    nomadServices: () => inputs.readInput('services', 'all') ?? [],
    nomadVar: (path) => {
      const found = inputs.readInput('variable', name(path)) as VariableValue | undefined;
      if (found && found.items === null)
        inputs.markMissing(`variable(${name(path)})${found.isDenied ? ', which its policies do not let it read' : ''}`);
      return found?.items ?? {};
    },
    nomadVarList: (prefix = '') => listed(prefix),
    nomadVarListSafe: (prefix = '') => {
      const found = listed(prefix);
      if (found.length === 0) inputs.markMissing(`variables(${String(prefix)})`);
      return found;
    },
    nomadVarExists: (path) => {
      const [wanted = ''] = name(path).split('@');
      return listed(path).some(({ Path }) => Path === wanted);
    },
    timestamp: () => rfc3339FromMs(clock.nowMs()).replace(/\.\d+/, ''),
  };
}
