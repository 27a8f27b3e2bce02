import { isDeepStrictEqual } from 'node:util';
import type { SourceKind, TemplateSources } from './template-source.js';

/** What one task's templates may wait for at most. */
export const MAX_TEMPLATE_INPUTS = 200;

/** A template asks for more things than it may. */
export class TooManyInputsError extends Error {
  override readonly name = 'TooManyInputsError';
  constructor() {
    super(`templates of a task may ask for at most ${MAX_TEMPLATE_INPUTS} services, variables and files`);
  }
}

interface Input {
  known: boolean;
  value: unknown;
}

/**
 * Everything that the templates of one task read from elsewhere. What is read for the first time is watched from then on
 * and is missing until its first value; `changed` is called for every other value after that. Memory: the last values.
 */
export class TemplateInputs {
  private readonly inputs = new Map<string, Input>();
  private missing = new Set<string>();
  /** The templates asked for more than they may: they will fail at it each time. */
  areTooMany = false;

  constructor(
    private readonly sources: TemplateSources,
    private readonly changed: () => void,
    /** Aborted when the task has ended. */
    private readonly signal: AbortSignal,
  ) {}

  /** What was read since the last call and is not known yet, as people are told of it. */
  takeMissing(): string[] {
    const missing = [...this.missing];
    this.missing = new Set();
    return missing;
  }

  /** Something that was read is there, and is not what the template can go on with. @param what as people are told of it */
  miss(what: string): void {
    this.missing.add(what);
  }

  /** undefined: not known yet. @throws TooManyInputsError */
  readInput(kind: SourceKind, name: string): unknown {
    const key = `${kind}(${name})`;
    const input = this.inputs.get(key) ?? this.watch(kind, name, key);
    if (!input.known) this.missing.add(key);
    return input.value;
  }

  private watch(kind: SourceKind, name: string, key: string): Input {
    this.areTooMany = this.inputs.size >= MAX_TEMPLATE_INPUTS;
    if (this.areTooMany) throw new TooManyInputsError();
    const input: Input = { known: false, value: undefined };
    this.inputs.set(key, input);
    const tell = (value: unknown): void => {
      if (this.signal.aborted || (input.known && isDeepStrictEqual(value, input.value))) return;
      input.known = true;
      input.value = value;
      this.changed();
    };
    this.sources[kind].watch(name, tell, this.signal);
    return input;
  }
}
