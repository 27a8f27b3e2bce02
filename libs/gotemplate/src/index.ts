/**
 * Go's `text/template`, as far as job templates and the output option `-t` of the command line use it:
 *
 *     new Template('{{range .}}{{.ID}}{{"\n"}}{{end}}', { missingKey: 'error' }).execute(allocations)
 *
 * Everything of the language but complex numbers, and templates that are defined outside the text. Differences by design:
 * all numbers are one kind (`printf "%f" 1` prints `1.000000`, `eq 1 1.0` is true), and only own fields of plain objects
 * exist; a field that is a function is a method. `printf` has no argument indexes and no `*`. Pure: no I/O, no clock.
 */
export { TemplateFunctionError } from './builtins.js';
export { TEMPLATE_LIMITS, type TemplateLimits } from './limits.js';
export type { MissingKey } from './pipeline-evaluation.js';
export { Template, type TemplateOptions } from './template.js';
export {
  TemplateError,
  TemplateExecutionError,
  TemplateLimitError,
  type TemplatePlace,
  TemplateSyntaxError,
} from './template-error.js';
export { type Delimiters, TEMPLATE_DELIMITERS } from './tokens.js';
export { textOf as printedValue, print as printedValues } from './print.js';
export type { TemplateFunction, TemplateFunctions } from './values.js';
