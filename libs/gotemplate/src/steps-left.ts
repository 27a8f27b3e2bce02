import type { TemplateError, TemplateLimitError } from './template-error.js';

/** Makes the error of what stands from `start` to `end` in the text. */
export type Blame = (
  span: { readonly start: number; readonly end: number },
  reason: string,
  cause?: unknown,
) => TemplateError;

/** How much one execution may still do. */
export class StepsLeft {
  constructor(
    private left: number,
    private readonly limitError: (offset: number, reason: string) => TemplateLimitError,
  ) {}

  /** @throws TemplateLimitError when nothing is left */
  takeStep(offset: number): void {
    if (this.left <= 0) throw this.exceeded(offset, 'too many turns and calls');
    this.left--;
  }

  exceeded(offset: number, reason: string): TemplateLimitError {
    return this.limitError(offset, reason);
  }
}
