import { readdirSync, readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { isCommand, loadCommand } from './catalogue.js';
import { ALIASES } from './command-words.js';
import { parseCommandLine } from './command-line.js';
import { commandReference, REFERENCE_FILE } from './command-reference.js';

const root = new URL('../../../', import.meta.url);
const text = (file: string) => readFileSync(new URL(file, root), 'utf8');

/** Pages for people, and the first lines of the examples. */
const pages = [
  'README.md',
  ...readdirSync(new URL('docs', root)).map((file) => `docs/${file}`),
  ...readdirSync(new URL('examples', root)).map((file) => `examples/${file}`),
].filter((file) => /\.(md|hcl)$/.test(file) && file !== REFERENCE_FILE);

/** Command lines that a page tells people to type: whole lines, without what a shell does around them. */
const commandLines = pages.flatMap((page) =>
  [...text(page).matchAll(/^(?:#? *|\$ )(?:npx )?waybill ([a-z-].*)$/gmu)].map((found) => ({
    page,
    line: (found[1] ?? '').replace(/ {2,}#.*$| [|>&;].*$/u, ''),
  })),
);

/** As a shell splits it; good enough for what pages show. */
const wordsOf = (line: string): string[] =>
  [...line.matchAll(/(?:[^\s'"]|'[^']*'|"[^"]*")+/gu)].map(([word]) => word.replaceAll(/['"]/gu, ''));

describe('the documentation of commands', () => {
  it('docs/commands.md is what the program says (otherwise run: node apps/cli/dist/write-command-reference.js)', async () => {
    expect(text(REFERENCE_FILE)).toBe(await commandReference());
  }, 30_000); // it opens every command's module

  it('there are command lines to look at', () => expect(commandLines.length).toBeGreaterThan(50));

  it.each(commandLines)('$page: waybill $line', async ({ line }) => {
    const typed = wordsOf(line);
    const count = [4, 3, 2, 1].find((n) => {
      const tried = typed.slice(0, n).join(' ');
      return isCommand(ALIASES.get(tried)?.words ?? tried);
    });
    expect(count, 'is there such a command').toBeDefined();
    const tried = typed.slice(0, count).join(' ');
    const words = ALIASES.get(tried)?.words ?? tried;
    const spec = await loadCommand(words);
    expect(() => spec && parseCommandLine(spec, words, typed.slice(count))).not.toThrow();
  });
});
