import { expect, it } from 'vitest';
import { parseLiteralFile } from './parse-literal-file.js';
import { JobspecError } from './syntax/diagnostic.js';

const PROFILE = { blocks: { outer: { label: 'name', schema: { blocks: { inner: {} } } } } };
const parsed = (text: string) => parseLiteralFile({ name: 'f', text }, PROFILE);

it.each([
  'outer "x" { a = 1 inner { b = ["c", true] } }',
  'outer "x" {\n a = 1\n inner {\n b = ["c", true]\n }\n}\n',
  '"outer" "x" { "a" = 1, inner { b = ["c", true,], }, },',
  '{"outer": {"x": {"a": 1, "inner": {"b": ["c", true]}}}}',
])('JS-6, JS-14: HCL in the layout of HCL 1, or JSON: %j', (text) => {
  const inner = { type: 'inner', labels: [], body: { attributes: [{ name: 'b', value: ['c', true] }], blocks: [] } };
  expect(parsed(text)).toEqual({
    attributes: [],
    blocks: [{ type: 'outer', labels: ['x'], body: { attributes: [{ name: 'a', value: 1 }], blocks: [inner] } }],
  });
});

it('JS-16: a name stands as often as it was set, in HCL and in JSON', () => {
  const twice = [
    { name: 'a', value: 1 },
    { name: 'a', value: null },
  ];
  expect(parsed('a = 1\na = null').attributes).toEqual(twice);
  expect(parsed('{"a": 1, "a": null}').attributes).toEqual(twice);
});

it('OP-129: in JSON, strings have the escapes of JSON, and no expressions', () => {
  const text = '{"\\u0061": "\\/ \\b\\f\\n\\r\\t \\" \\\\ \\u00e9 ${b} %{ if } $${c}"}';
  expect(parsed(text).attributes).toEqual([{ name: 'a', value: '/ \b\f\n\r\t " \\ é ${b} %{ if } $${c}' }]);
  const long = JSON.stringify('\ud83d\ude00/'.repeat(10_000));
  expect(parsed(`{"a": ${long}}`).attributes).toEqual([{ name: 'a', value: JSON.parse(long) }]);
});

it.each([
  '{"a": "\\x"}',
  '{"a": "\\u00e"}',
  '{"a": "\\U000000e9"}',
  '{"a": "b\tc"}',
  '{"a": "b\nc"}',
  '{"a": "b',
  '{"a: 1}',
])('OP-129: %j has a string that JSON does not know', (text) => {
  expect(() => parsed(text)).toThrow(JobspecError);
});

it.each(['a = 1 + 1', 'a = upper("b")', 'a = b', 'a = "${b}"', 'a = { b = 1 }', 'a = [[b]]', 'a = 1e400'])(
  'JS-60: %j is no literal',
  (text) => {
    expect(() => parsed(text)).toThrow(JobspecError);
  },
);
