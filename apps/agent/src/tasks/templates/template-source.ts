/**
 * SourceKind is a kind of input: a service by its name, the names of all services, a variable, the variables whose
 * paths have the same prefix, a file of the allocation.
 */
export type SourceKind = 'service' | 'services' | 'variable' | 'variables' | 'file';

/** TemplateSource is a source of values that may change while a task runs. */
export interface TemplateSource {
  /**
   * Tells the value as soon as it is known and after each change, until `signal` is aborted. It never throws: an
   * unavailable value is not told.
   */
  watch(name: string, tell: (value: unknown) => void, signal: AbortSignal): void;
}

export type TemplateSources = Readonly<Record<SourceKind, TemplateSource>>;

/** ServerSources are the inputs from the servers. */
export type ServerSources = Omit<TemplateSources, 'file'>;

/** VariableValue is a variable as its source tells it. */
export interface VariableValue {
  /** The items; null if the variable does not exist or the task may not read it. */
  readonly items: Readonly<Record<string, string>> | null;
  readonly isDenied: boolean;
}

/** ListedVariable is one entry of the list of variables. */
export interface ListedVariable {
  readonly Namespace: string;
  readonly Path: string;
}
