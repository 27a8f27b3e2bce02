/**
 * Formats errors (API-42): `<n> errors occurred:`, one indented line each, a blank line at the end. Empty without
 * errors.
 */
export function formatErrors(errors: readonly string[]): string {
  return errors.length === 0 ? '' : nestedList(errors);
}

/** Formats warnings (API-350): `<n> warnings:`, a blank line, one line each. Empty without warnings. */
export function formatWarnings(warnings: readonly string[]): string {
  if (warnings.length === 0) return '';
  const title = warnings.length === 1 ? '1 warning:' : `${warnings.length} warnings:`;
  return `${title}\n\n${warnings.map((warning) => `* ${warning}`).join('\n')}`;
}

/** Formats a list that follows the prefix of the message that contains it. */
export function nestedList(messages: readonly string[]): string {
  const title = messages.length === 1 ? '1 error occurred:' : `${messages.length} errors occurred:`;
  return `${title}${messages.map((message) => `\n\t* ${message}`).join('')}\n\n`;
}
