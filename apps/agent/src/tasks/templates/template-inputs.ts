import { isDeepStrictEqual } from 'node:util';
import type { SourceKind, TemplateSources } from './template-source.js';

/** The largest number of inputs of one task's templates. */
export const MAX_TEMPLATE_INPUTS = 200;

/** TooManyInputsError says that the templates read more inputs than the limit. */
export class TooManyInputsError extends Error {
  override readonly name = 'TooManyInputsError';
  constructor() {
    super(
      `templates of a task may ask for at most ${MAX_TEMPLATE_INPUTS} services, variables, secrets, keys and files`,
    );
  }
}

interface Input {
  known: boolean;
  value: unknown;
}

/**
 * TemplateInputs are all inputs of one task's templates. The first read of an input begins its watch. It is missing
 * until its first value, and each new value calls `changed`. Memory: the last values.
 */
export class TemplateInputs {
  private readonly inputs = new Map<string, Input>();
  private missing = new Set<string>();
  /** Whether the templates exceed the limit. Then each rendering fails. */
  areTooMany = false;

  constructor(
    private readonly sources: TemplateSources,
    private readonly changed: () => void,
    /** Aborted when the task has ended. */
    private readonly signal: AbortSignal,
  ) {}

  /** Returns the missing inputs that were read since the last call, as messages name them. */
  drainMissing(): string[] {
    const missing = [...this.missing];
    this.missing = new Set();
    return missing;
  }

  /**
   * Marks an input as missing although it has a value, because the template cannot use the value.
   * @param what its name in messages
   */
  markMissing(what: string): void {
    this.missing.add(what);
  }

  /** Says whether the task may read inputs of a kind. */
  hasSource(kind: SourceKind): boolean {
    return this.sources[kind] !== undefined;
  }

  /**
   * Returns the value of an input, or undefined before the first value.
   * @param what its name in messages
   * @throws TooManyInputsError
   */
  readInput(kind: SourceKind, name: string, what = `${kind}(${name})`): unknown {
    const key = `${kind}(${name})`;
    const input = this.inputs.get(key) ?? this.watch(kind, name, key);
    if (!input.known) this.missing.add(what);
    return input.value;
  }

  private watch(kind: SourceKind, name: string, key: string): Input {
    this.areTooMany = this.inputs.size >= MAX_TEMPLATE_INPUTS;
    if (this.areTooMany) throw new TooManyInputsError();
    const input: Input = { known: false, value: undefined };
    this.inputs.set(key, input);
    const setValue = (value: unknown): void => {
      if (this.signal.aborted || (input.known && isDeepStrictEqual(value, input.value))) return;
      input.known = true;
      input.value = value;
      this.changed();
    };
    this.sources[kind]?.watch(name, setValue, this.signal);
    return input;
  }
}
