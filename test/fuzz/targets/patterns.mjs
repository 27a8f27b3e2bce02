// Regular expressions, globs, versions and constraints. Parts: operand, left, right, replacement.
import { compilePattern, FilterSyntaxError, globMatcher, operatorHolds } from '../../../libs/model/dist/index.js';
import { declaring, same, texts, timed } from '../harness.mjs';

const OPERANDS = [
  '=',
  '!=',
  '<',
  '<=',
  '>',
  '>=',
  'regexp',
  'version',
  'semver',
  'set_contains',
  'set_contains_any',
  'is_set',
  'is_not_set',
];

export const fuzz = timed((data) => {
  const [operand = '', left = '', right = ''] = texts(data, 3);
  if (OPERANDS.includes(operand))
    same(`${operand} decided again`, operatorHolds(operand, left, right), operatorHolds(operand, left, right));
  globMatcher([right, `${right}*`])(left);
  declaring([FilterSyntaxError], () => compilePattern(right));
});

export const seeds = () => [
  'version\n--\n1.2.3-beta.1+build\n--\n>= 1.0, < 2.0',
  'version\n--\n1.2\n--\n~> 1.2.3',
  'semver\n--\nv1.10.0\n--\n>1.9.0-rc.1',
  'regexp\n--\nweb-server-01\n--\n^(?i:web)[-_](\\w+)-\\d{2,3}$',
  'regexp\n--\näöü\n--\n(?s)\\p{L}+|[[:alpha:]]*?|\\x{e4}',
  'set_contains\n--\na, b,c\n--\nb,c',
  'is_set\n--\ndc-eu-1\n--\ndc-*-1',
];
