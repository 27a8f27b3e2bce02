import { describe, expect, it } from 'vitest';
import { pageAnswer } from './page-answer.js';
import type { PageFile } from './page-files.store.js';

const script: PageFile = {
  type: 'text/javascript',
  plain: Buffer.from('plain'),
  coded: [
    ['br', Buffer.from('b')],
    ['gzip', Buffer.from('g')],
  ],
};
const index: PageFile = { type: 'text/html', plain: Buffer.from('<html>'), coded: [] };
const built = (name: string): PageFile | undefined =>
  ({ 'index.html': index, 'assets/a-1.js': script })[name as 'index.html'];

describe('what a path below /ui/ is answered', () => {
  it('every address of the pages begins with the index, which is asked for anew each time', () => {
    for (const name of ['', 'jobs', 'jobs/a%2Fb@default', 'index.html'])
      expect(pageAnswer(name, built, undefined)).toMatchObject({
        status: 200,
        body: index.plain,
        headers: { 'Content-Type': 'text/html', 'Cache-Control': 'no-cache' },
      });
  });

  it('a file whose name tells its content is kept for good, in the best form that the browser takes', () => {
    const { headers, body } = pageAnswer('assets/a-1.js', built, 'gzip, br');
    expect(headers).toMatchObject({ 'Content-Encoding': 'br', 'Cache-Control': 'public, max-age=31536000, immutable' });
    expect(String(body)).toBe('b');
    expect(String(pageAnswer('assets/a-1.js', built, 'br;q=0, gzip').body)).toBe('g');
    const plain = pageAnswer('assets/a-1.js', built, undefined);
    expect(plain.headers).not.toHaveProperty('Content-Encoding');
    expect(plain.body).toBe(script.plain);
  });

  it('a file that is not there is 404, also above the folder, and pages that are not built say so', () => {
    for (const name of ['assets/a-0.js', 'assets/../../package.json'])
      expect(pageAnswer(name, built, '').status).toBe(404);
    expect(String(pageAnswer('jobs', () => undefined, '').body)).toContain('npm run build');
  });

  it('nothing inline runs, nothing foreign is loaded, nobody frames it', () => {
    for (const name of ['', 'assets/a-1.js', 'assets/none.js']) {
      const { headers } = pageAnswer(name, built, '');
      const policy = headers['Content-Security-Policy'] ?? '';
      expect(policy.split('; ')).toContain("default-src 'none'");
      expect(policy).toContain("frame-ancestors 'none'");
      expect(policy).not.toMatch(/unsafe|\*|https?:|data:/);
      expect(headers).toMatchObject({ 'X-Content-Type-Options': 'nosniff', 'Referrer-Policy': 'no-referrer' });
    }
  });
});
