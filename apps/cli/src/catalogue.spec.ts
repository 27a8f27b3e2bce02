import { describe, expect, it } from 'vitest';
import { CATALOGUE } from './catalogue.js';
import { flagsOf, helpOf } from './command-line.js';

describe('help', () => {
  it('CL-109: the help of every command documents every flag it accepts', async () => {
    for (const { words, load } of CATALOGUE) {
      const { command } = await load();
      const help = helpOf(command, words, 'waybill');
      expect(help).toMatch(new RegExp(`^Usage: waybill ${words}`));
      for (const { name } of flagsOf(command))
        expect(help, `${words} -${name}`).toMatch(new RegExp(`^  -${name}[= \n]`, 'm'));
    }
  });
});
