import { readdirSync, readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { parseJob } from './parse-job.js';

const here = new URL('./', import.meta.url);
const sources = readdirSync(here, { recursive: true })
  .map(String)
  .filter((file) => file.endsWith('.ts') && !file.endsWith('.spec.ts'));

describe('reading a job file', () => {
  it('JS-4: reaches no file, process or network by itself', () => {
    const reaching = sources.filter((file) =>
      /from '(?:node:)?(?:fs|child_process|net|https?|http2|dgram|dns|worker_threads)(?:\/\w+)?'|\bfetch\(/u.test(
        readFileSync(new URL(file, here), 'utf8'),
      ),
    );
    expect(sources.length).toBeGreaterThan(40);
    expect(reaching).toEqual([]);
  });

  it('JS-4: files are reached through what the caller gives, and by nothing else', () => {
    const text = 'job "x" {\n name = file("a.txt")\n}\n';
    expect(() => parseJob({ file: { name: 'x.hcl', text } })).toThrow('filesystem function disabled');
  });
});
