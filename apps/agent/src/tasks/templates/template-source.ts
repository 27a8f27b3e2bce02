/** What a template can wait for: a service by its name, the names of all services, a file of the allocation. */
export type SourceKind = 'service' | 'services' | 'file';

/** Where values come from that may change while a task runs. */
export interface TemplateSource {
  /**
   * Tells the value as soon as it is known and after each change, until `signal` is aborted. Never throws: what cannot be
   * had yet is not told.
   */
  watch(name: string, tell: (value: unknown) => void, signal: AbortSignal): void;
}

export type TemplateSources = Readonly<Record<SourceKind, TemplateSource>>;
