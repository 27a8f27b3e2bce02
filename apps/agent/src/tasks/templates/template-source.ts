/**
 * SourceKind is a kind of input: a service by its name, the names of all services, a variable, the variables whose
 * paths have the same prefix, a file of the allocation.
 */
export type SourceKind = ServerKind | 'file' | LoginKind;

type ServerKind = 'service' | 'services' | 'variable' | 'variables';

/**
 * LoginKind is a kind of input from Vault or Consul (AG-298, AG-299), with the words of messages: a secret, the names
 * below a path, a key, the keys below a prefix, the healthy addresses of a service, the names of all services.
 */
export type LoginKind = 'vault.read' | 'vault.list' | 'kv.get' | 'kv.list' | 'health.service' | 'catalog.services';

/** TemplateSource is a source of values that may change while a task runs. */
export interface TemplateSource {
  /**
   * Tells the value as soon as it is known and after each change, until `signal` is aborted. It never throws: an
   * unavailable value is not told.
   */
  watch(name: string, tell: (value: unknown) => void, signal: AbortSignal): void;
}

/** LoginSources are the inputs from Vault and Consul. Those of a product are absent for a task without its block. */
export type LoginSources = Readonly<Partial<Record<LoginKind, TemplateSource>>>;

/** ServerSources are the inputs from the servers. */
export type ServerSources = Readonly<Record<ServerKind, TemplateSource>>;

export type TemplateSources = ServerSources & Readonly<Record<'file', TemplateSource>> & LoginSources;

/** LoginValue is an input from Vault or Consul: a value, or why the server refuses it. */
export type LoginValue = { readonly value: unknown } | { readonly refused: string };

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
