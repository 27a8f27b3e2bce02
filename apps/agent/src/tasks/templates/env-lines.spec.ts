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
    ['\tA = 1#2 #3 # 4\r', { A: '1#2' }],
    ['A=#1', { A: '#1' }],
  ])('AG-293: %j', (text, variables) => {
    expect(envLines(text)).toEqual(variables);
  });

  it('AG-293: a line of any length takes no longer than it is: nobody holds the agent up with one', () => {
    const wide = ' '.repeat(500_000);
    const hashes = '#'.repeat(500_000);
    const lines = [`A=1${wide}2`, `B=1${wide}#`, `C="1"${wide}# x`, `D=1${hashes}`, `export${wide}E=1`];
    const beganMs = performance.now();
    expect(envLines(lines.join('\n'))).toEqual({ A: `1${wide}2`, B: '1', C: '1', D: `1${hashes}`, E: '1' });
    for (const line of [`A${wide}`, `A="${wide}`, `A='1'${wide}x`, `${'A'.repeat(500_000)}`])
      expect(() => envLines(line)).toThrow(EnvLineError);
    expect(performance.now() - beganMs).toBeLessThan(2_000);
  });

  it.each(['A', '1A=x', 'A="x', "A='x", '=x'])('AG-293: %j is none', (text) => {
    expect(() => envLines(`OK=1\n${text}`)).toThrow(EnvLineError);
    expect(() => envLines(`OK=1\n${text}`)).toThrow('line 2');
  });
});
