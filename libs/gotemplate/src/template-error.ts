/** A place in a template's text; line and column count from 1, the column in UTF-16 units. */
export interface TemplatePlace {
  readonly template: string;
  readonly line: number;
  readonly column: number;
}

/** Anything that is wrong with a template or happened while it was executed. */
export class TemplateError extends Error {
  override readonly name: string = 'TemplateError';
  constructor(
    readonly place: TemplatePlace,
    readonly reason: string,
    options?: ErrorOptions,
  ) {
    super(`template: ${place.template}:${place.line}:${place.column}: ${reason}`, options);
  }
}

/** The text is no template. */
export class TemplateSyntaxError extends TemplateError {
  override readonly name = 'TemplateSyntaxError';
}

/** The template does not fit its data, or a function refused. */
export class TemplateExecutionError extends TemplateError {
  override readonly name = 'TemplateExecutionError';
}

/** The template takes more than it may (limits.ts). */
export class TemplateLimitError extends TemplateError {
  override readonly name = 'TemplateLimitError';
}

export function placeAt(template: string, source: string, offset: number): TemplatePlace {
  const before = source.slice(0, offset);
  const line = before.split('\n').length;
  return { template, line, column: offset - before.lastIndexOf('\n') };
}
