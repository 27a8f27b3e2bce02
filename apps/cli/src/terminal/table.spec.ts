import { describe, expect, it } from 'vitest';
import { keyValues, table, widthOf } from './table.js';

describe('tables', () => {
  it('CL-137: two spaces between columns, nothing behind the last, <none> for empty cells', () => {
    expect(table([['alpha', 'beta', '', 'delta']])).toBe('alpha  beta  <none>  delta');
    expect(
      table([
        ['ID', 'Name'],
        ['  longer ', 'x'],
      ]),
    ).toBe('ID      Name\nlonger  x');
  });

  it('CL-137: East Asian letters take two columns, colour codes none', () => {
    expect(
      table([
        ['日本', 'a'],
        ['four', 'c'],
      ]),
    ).toBe('日本  a\nfour  c');
    expect(widthOf('\u001b[31mred!\u001b[39m')).toBe(4);
  });

  it('CL-138: key = value', () => {
    expect(
      keyValues([
        ['alpha', 'beta'],
        ['charlie', 'delta'],
        ['echo', ''],
      ]),
    ).toBe('alpha   = beta\ncharlie = delta\necho    = <none>');
  });

  it('CL-139: bars, tabs and newlines do not shift columns, control characters are shown', () => {
    expect(table([['a|b', 'x\ty', 'z']])).toBe('a|b  x\\x09y  z');
    expect(table([['one\ntwo', 'b']])).toBe('one  b\ntwo');
    expect(table([['\u001b]0;title\u0007', 'b']])).toBe('\\x1b]0;title\\x07  b');
    expect(table([['\u001b[8mhidden', 'b']])).toBe('\\x1b[8mhidden  b');
  });
});
