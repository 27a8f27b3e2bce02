import { readdirSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { CATALOGUE, loadCommand } from './catalogue.js';
import { flagsOf, helpOf, parseCommandLine } from './command-line.js';
import { EXAMPLES } from './examples.js';
import { SYNOPSES } from './synopses.js';

describe('the catalogue', () => {
  it('has every command that there is a module of, in order', () => {
    const modules = readdirSync(new URL('commands', import.meta.url), 'utf8').filter((name) => name !== 'refused.ts');
    const words = Object.keys(SYNOPSES);
    expect(words.map((name) => `${name.replaceAll(' ', '-')}.ts`).toSorted()).toEqual(modules.toSorted());
    expect(words).toEqual(words.toSorted());
  });
});

describe('help', () => {
  it('CL-109: the help of every command documents every flag it accepts', { timeout: 60_000 }, async () => {
    for (const { words, load } of CATALOGUE) {
      const { command } = await load();
      const help = helpOf(command, words, 'waybill');
      expect(help).toMatch(new RegExp(`^Usage: waybill ${words}`));
      for (const { name } of flagsOf(command))
        expect(help, `${words} -${name}`).toMatch(new RegExp(`^  -${name}[= \n]`, 'm'));
    }
  });

  it.each(Object.entries(EXAMPLES))('%s: its examples are lines that it takes', async (words, examples) => {
    const command = await loadCommand(words);
    if (!command) throw new RangeError(`no command ${words}`);
    expect(helpOf(command, words, 'waybill')).toContain(`\nExamples:\n  # ${examples[0]?.[1]}\n  waybill ${words}`);
    for (const [line] of examples) {
      expect(line).toMatch(new RegExp(`^${words}( |$)`));
      const typed = [...line.slice(words.length).matchAll(/(?:[^\s'"]|'[^']*'|"[^"]*")+/gu)].map(([word]) => word);
      const { args } = parseCommandLine(command, words, typed);
      expect(args.length).toBeGreaterThanOrEqual(command.takes.min);
      expect(args.length).toBeLessThanOrEqual(command.takes.max);
    }
  });
});
