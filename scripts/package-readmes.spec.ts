import { expect, it } from 'vitest';
import { readmeFindings } from './package-readmes.mjs';

const tree = {
  sources: ['export abstract class Journal {}\n', 'const Hidden = 1;\nexport function call() {}\n'],
  exists: (file: string) => file === 'libs/x/src/journal.ts',
};
const found = (types: string, file: string) =>
  readmeFindings('libs/x', { ...tree, readme: `- **Main types:** ${types}.\n- **Begin with:** ${file}.\n` });

it('a README of a package names exported types and files that exist', () => {
  expect(found('`Journal`, `call()`, the follower', '`src/journal.ts`')).toEqual([]);
  expect(found('`Journal`, `Hidden`, `Gone`', '`src/journal.ts`, then `src/old.ts`')).toEqual([
    'libs/x/README.md: nothing exports Hidden',
    'libs/x/README.md: nothing exports Gone',
    'libs/x/README.md: no file src/old.ts',
  ]);
});

it('a README without the two lines is reported', () => {
  expect(readmeFindings('libs/x', { ...tree, readme: '# libs/x\n' })).toEqual([
    'libs/x/README.md: no "Main types"',
    'libs/x/README.md: no "Begin with"',
  ]);
});
