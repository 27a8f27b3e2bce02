/**
 * What a template can wait for: a service by its name, the names of all services, a variable, the variables whose paths
 * begin alike, a file of the allocation.
 */
export type SourceKind = 'service' | 'services' | 'variable' | 'variables' | 'file';

/** Where values come from that may change while a task runs. */
export interface TemplateSource {
  /**
   * Tells the value as soon as it is known and after each change, until `signal` is aborted. Never throws: what cannot be
   * had yet is not told.
   */
  watch(name: string, tell: (value: unknown) => void, signal: AbortSignal): void;
}

export type TemplateSources = Readonly<Record<SourceKind, TemplateSource>>;

/** What the servers are asked for. */
export type ServerSources = Omit<TemplateSources, 'file'>;

/** A variable as its source tells it. */
export interface VariableValue {
  /** null: there is none, or the task may not read it. */
  readonly items: Readonly<Record<string, string>> | null;
  readonly isDenied: boolean;
}

/** One of the list of variables. */
export interface ListedVariable {
  readonly Namespace: string;
  readonly Path: string;
}
