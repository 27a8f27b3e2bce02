import { describe, expect, it } from 'vitest';
import { formatExact, membersOf, parseExact } from './exact-json.js';

describe('exact JSON', () => {
  it('CL-126: integers beyond 2^53 keep every digit', () => {
    const text = '{"SubmitTime":1763686800123456789,"Index":18446744073709551615,"Small":12,"Half":0.5,"One":1.0}';
    expect(formatExact(parseExact(text), 0)).toBe(text);
  });

  it('CL-126: digits inside strings stay text', () => {
    const text = '{"a":"1763686800123456789 \\"12345678901234567890\\"","1763686800123456789":[-9007199254740993]}';
    expect(formatExact(parseExact(text), 0)).toBe(text);
  });

  it('CL-159: indented by four, HTML characters and other scripts as they are', () => {
    expect(formatExact(parseExact('{"a":["<&>","日本"]}'))).toBe(
      '{\n    "a": [\n        "<&>",\n        "日本"\n    ]\n}',
    );
  });

  it('small numbers are numbers', () => {
    expect(membersOf(parseExact('{"n":7}'))['n']).toBe(7);
  });
});
