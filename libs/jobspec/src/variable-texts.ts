import type { TextFile } from './parse-job.js';
import { parseBody } from './syntax/body-parser.js';
import { SourceText, type Span } from './syntax/source-text.js';

/**
 * Merges the assignments of several variable files into one text that can be parsed again. Of the assignments to one
 * name only the last stays (JS-232). All other text is unchanged. The files have been parsed before.
 * @param files in increasing precedence
 */
export function mergedVariableTexts(files: readonly TextFile[]): string[] {
  const assigned = new Set<string>();
  const texts: string[] = [];
  for (const { name, text } of files.toReversed()) {
    const source = new SourceText(name, text);
    const { attributes } = parseBody(source);
    const given = attributes.map((attribute) => attribute.name);
    const overridden = attributes.filter((attribute) => assigned.has(attribute.name));
    const cuts = overridden.map(({ nameSpan, value }): Span => ({ start: nameSpan.start, end: value.span.end }));
    texts.unshift(without(source.text, cuts));
    for (const one of given) assigned.add(one);
  }
  return texts;
}

function without(text: string, cuts: readonly Span[]): string {
  let rest = text;
  for (const { start, end } of cuts.toSorted((a, b) => b.start - a.start))
    rest = rest.slice(0, start) + rest.slice(end);
  return rest;
}
