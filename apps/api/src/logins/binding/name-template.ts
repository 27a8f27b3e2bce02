/**
 * NameTemplateError says that a name cannot be made from its template, because the template is invalid or names an
 * unknown variable.
 */
export class NameTemplateError extends Error {
  override readonly name = 'NameTemplateError';
}

/** Variables are the values that a template may name. */
export type Variables = ReadonlyMap<string, string>;

/**
 * The form of a variable in a reference. A reference is a variable or a quoted text; every other expression is refused
 * (AU-56).
 */
const VARIABLE = /^[A-Za-z_][A-Za-z0-9_.*-]*$/;
const QUOTED = /^"((?:[^"\\$]|\\["\\])*)"$/;

/**
 * Replaces each `${…}` of a text. `$${` stands for a literal `${` (AU-51).
 * @throws NameTemplateError for an unknown variable or bad syntax (AU-53)
 */
export function filledIn(template: string, variables: Variables): string {
  let text = '';
  for (let at = 0; at < template.length;) {
    if (template.startsWith('$${', at)) {
      text += '${';
      at += 3;
    } else if (template.startsWith('${', at)) {
      const end = endOfReference(template, at + 2);
      text += valueOf(template.slice(at + 2, end).trim(), variables);
      at = end + 1;
    } else text += template[at++];
  }
  return text;
}

/** Returns the position of the brace that closes a reference. Braces inside a quoted text do not count. */
function endOfReference(template: string, from: number): number {
  let inQuotes = false;
  for (let at = from; at < template.length; at++) {
    const character = template[at];
    if (inQuotes && character === '\\') at++;
    else if (character === '"') inQuotes = !inQuotes;
    else if (character === '}' && !inQuotes) return at;
  }
  throw new NameTemplateError(`"\${" at position ${from - 2} is not closed`);
}

function valueOf(reference: string, variables: Variables): string {
  const quoted = QUOTED.exec(reference);
  if (quoted) return (quoted[1] ?? '').replaceAll(/\\(.)/g, '$1');
  if (!VARIABLE.test(reference)) throw new NameTemplateError(`"\${${reference}}" is no variable`);
  const value = variables.get(reference);
  if (value === undefined) throw new NameTemplateError(`unknown variable accessed: ${reference}`);
  return value;
}
