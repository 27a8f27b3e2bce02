/** What one template may take. A template comes with a job, so whoever may run a job writes it. */
export interface TemplateLimits {
  /** UTF-16 units of the text itself. */
  readonly sourceLength: number;
  /** UTF-16 units of the whole output, and of any string that a function answers on the way. */
  readonly outputLength: number;
  /** How deep actions may nest in the text, and templates may call each other. */
  readonly depth: number;
  /** Turns of all `range` loops together, and calls of templates and functions. */
  readonly steps: number;
}

export const TEMPLATE_LIMITS: TemplateLimits = {
  sourceLength: 1024 * 1024,
  outputLength: 16 * 1024 * 1024,
  depth: 100,
  steps: 1_000_000,
};
