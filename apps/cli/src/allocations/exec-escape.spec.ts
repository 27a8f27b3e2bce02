import { describe, expect, it } from 'vitest';
import { ExecEscape } from './exec-escape.js';

/** What arrives of what was typed, piece by piece; `|` marks the end of the session. */
function passed(pieces: readonly string[], sign: string | undefined = '~'): string {
  const escape = new ExecEscape(sign);
  let out = '';
  for (const piece of pieces) {
    const { bytes, ends } = escape.pass(Buffer.from(piece));
    out += bytes.toString();
    if (ends) return `${out}|`;
  }
  return out;
}

describe('the escape character of alloc exec', () => {
  it.each([
    [['~.'], '|'],
    [['ls\r~.'], 'ls\r|'],
    [['ls\n', '~', '.', 'x'], 'ls\n|'],
    [['ls ~.\r'], 'ls ~.\r'],
    [['~~.'], '~.'],
    [['~a'], '~a'],
    [['~\r~.'], '~\r|'],
    [['é~.'], 'é~.'],
  ])('CL-433: %j', (pieces, sent) => expect(passed(pieces)).toBe(sent));

  it('CL-433: another character, or none', () => {
    expect(passed(['~.', '\r^.'], '^')).toBe('~.\r|');
    expect(new ExecEscape(undefined).pass(Buffer.from('~.')).ends).toBe(false);
  });
});
