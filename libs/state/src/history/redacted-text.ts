import { Refusal } from '@waybill/model';

/** A text of a row: the members and positions that lead to it, and its content from now on. */
export interface RedactedText {
  readonly Path: readonly (string | number)[];
  readonly Text: string;
}

/**
 * Returns a copy of the row with other texts.
 * @throws Refusal conflict if a path leads to no text: the row has changed since the paths were found
 */
export function withTexts<Row extends object>(row: Row, texts: readonly RedactedText[]): Row {
  const copy = structuredClone(row);
  for (const { Path, Text } of texts) {
    const parent = Path.slice(0, -1).reduce<unknown>(memberOf, copy);
    const name = Path.at(-1) ?? '';
    if (typeof memberOf(parent, name) !== 'string') throw notThere();
    Reflect.set(Object(parent), name, Text);
  }
  return copy;
}

function memberOf(value: unknown, name: string | number): unknown {
  if (typeof value !== 'object' || value === null || !Object.hasOwn(value, name)) throw notThere();
  return Reflect.get(value, name);
}

const notThere = (): Refusal => new Refusal('conflict', 'a text to redact is not there any more; try again');
