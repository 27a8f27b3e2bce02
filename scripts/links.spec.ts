import { describe, expect, it } from 'vitest';
import { anchorOf, deadLinks, repeatedHeadings } from './links.mjs';

const pages: Record<string, string> = { 'docs/a.md': '# First, second\n', 'docs/dir': '' };
const tree = { exists: (file: string) => file in pages, textOf: (file: string) => pages[file] ?? '' };

describe('links between pages', () => {
  it('accepts files, headings and addresses that exist', () => {
    const text = '[a](docs/a.md) [b](docs/a.md#first-second) [c](https://example.org/x) [d](docs/dir)';
    expect(deadLinks('README.md', text, tree)).toEqual([]);
  });

  it('reports a file and a heading that do not exist', () => {
    expect(deadLinks('docs/b.md', '[a](gone.md) [b](a.md#third)', tree)).toEqual([
      'docs/b.md: gone.md leads to no file',
      'docs/b.md: a.md#third leads to no heading',
    ]);
  });

  it('reads no links in code', () => {
    expect(deadLinks('README.md', '`[a](gone.md)`\n```js\nx[0](gone)\n```\n', tree)).toEqual([]);
  });

  it('reports a heading that a page has twice', () => {
    const text = '# Gaps\n## Log\n```sh\n# Gaps\n```\n## Agent\n## Log\n## Log\n';
    expect(repeatedHeadings('docs/a.md', text)).toEqual(['docs/a.md: the heading "Log" stands more than once']);
  });

  it('makes anchors as GitHub does', () => {
    expect(anchorOf('Who may do what?')).toBe('who-may-do-what');
    expect(anchorOf('`--fresh`, and more')).toBe('--fresh-and-more');
  });
});
