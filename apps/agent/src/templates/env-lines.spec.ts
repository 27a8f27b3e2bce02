import { describe, expect, it } from 'vitest';
import { EnvLineError, envLines } from './env-lines.js';

describe('lines of a template that is environment', () => {
  it.each([
    ['A=1\n\n# said\nB_2=x y ', { A: '1', B_2: 'x y' }],
    ['export A=1 # why', { A: '1' }],
    ['A="x # y \\n \\"z\\""', { A: 'x # y \n "z"' }],
    ["A='x # $HOME \\n'", { A: 'x # $HOME \\n' }],
    ['A=\nB=a=b', { A: '', B: 'a=b' }],
    ['A=1\nA=2', { A: '2' }],
  ])('AG-293: %j', (text, variables) => {
    expect(envLines(text)).toEqual(variables);
  });

  it.each(['A', '1A=x', 'A="x', "A='x", '=x'])('AG-293: %j is none', (text) => {
    expect(() => envLines(`OK=1\n${text}`)).toThrow(EnvLineError);
    expect(() => envLines(`OK=1\n${text}`)).toThrow('line 2');
  });
});
