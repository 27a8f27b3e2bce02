/** API-42: `<n> errors occurred:`, one indented line each, a blank line at the end. Empty for no errors. */
export function formatErrors(errors: readonly string[]): string {
  return errors.length === 0 ? '' : nestedList(errors);
}

/** API-350: `<n> warnings:`, a blank line, one line each. Empty for no warnings. */
export function formatWarnings(warnings: readonly string[]): string {
  if (warnings.length === 0) return '';
  const title = warnings.length === 1 ? '1 warning:' : `${warnings.length} warnings:`;
  return `${title}\n\n${warnings.map((warning) => `* ${warning}`).join('\n')}`;
}

/** A list that stands after the prefix of the message it belongs to. */
export function nestedList(messages: readonly string[]): string {
  const title = messages.length === 1 ? '1 error occurred:' : `${messages.length} errors occurred:`;
  return `${title}${messages.map((message) => `\n\t* ${message}`).join('')}\n\n`;
}
