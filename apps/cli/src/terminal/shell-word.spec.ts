import { execFileSync } from 'node:child_process';
import { describe, expect, it } from 'vitest';
import { paginationHint } from '../flags/pagination.js';
import { shellFlag, shellWord } from './shell-word.js';

const ODD = [
  'plain',
  'a b',
  '',
  'Status == "complete"',
  "it's",
  'He said "hi" $HOME `id` \\ !',
  'ID matches "^a|b"',
  '日本',
];

/** What a shell makes of a command. */
const wordsOf = (command: string): string[] =>
  execFileSync('sh', ['-c', `printf '%s\\0' ${command}`], { encoding: 'utf8' })
    .split('\0')
    .slice(0, -1);

describe('commands that people are told to run', () => {
  it('say in a shell what was meant', () => {
    expect(wordsOf(ODD.map(shellWord).join(' '))).toEqual(ODD);
    expect(wordsOf(ODD.map((value) => shellFlag('var', value)).join(' '))).toEqual(ODD.map((value) => `-var=${value}`));
    expect(shellFlag('var', 'greeting=Hello there')).toBe('-var="greeting=Hello there"');
  });

  it('CL-174: the next page of what was filtered', () => {
    const typed = ['eval', 'list', '-filter', ODD[3]!, '-page-token=x', '-per-page=1'];
    const command = paginationHint({ program: 'waybill', typed }, '12.ab').split('\n').at(-1)!;
    expect(wordsOf(command)).toEqual(['waybill', ...typed.toSpliced(4, 1), '-page-token', '12.ab']);
  });
});
