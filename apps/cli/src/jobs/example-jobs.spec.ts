import { readdirSync, readFileSync } from 'node:fs';
import { decodeJob, validateJob } from '@waybill/model';
import { parseJob } from '@waybill/jobspec';
import { describe, expect, it } from 'vitest';
import { EXAMPLE_JOB, SHORT_EXAMPLE_JOB } from './example-job.js';

const folder = new URL('../../../../examples/', import.meta.url);
const files = readdirSync(folder).filter((file) => file.endsWith('.nomad.hcl'));
const examples: [string, string][] = [
  ...files.map((file): [string, string] => [file, readFileSync(new URL(file, folder), 'utf8')]),
  ['job init', EXAMPLE_JOB],
  ['job init -short', SHORT_EXAMPLE_JOB],
];

describe('example jobs', () => {
  it('are those that there should be', () =>
    expect(files.map((file) => file.replace('.nomad.hcl', ''))).toEqual([
      'batch',
      'csi',
      'disconnect',
      'exec',
      'multiregion',
      'parameterized',
      'periodic',
      'placement',
      'secret',
      'service',
      'system',
      'templates',
    ]));

  it.each(examples)('%s is a job that the server takes', (name, text) => {
    const { job } = parseJob({ file: { name, text }, strict: true });
    expect(validateJob(decodeJob(job))).toEqual({ errors: [], warnings: [] });
  });

  it.each(examples.filter(([name]) => !name.includes('short')))(
    '%s says in its first lines what it is and how to run it',
    (_, text) => {
      const [comment = ''] = text.split(/^(?!#)/mu, 1);
      expect(comment).toContain('waybill job run');
    },
  );

  it.each(examples)('%s needs nothing but a shell, exec.nomad.hcl an agent that is root besides', (name, text) => {
    const { job } = parseJob({ file: { name, text } });
    const drivers = JSON.stringify(job).match(/"Driver":"[^"]*"/gu);
    expect(new Set(drivers)).toEqual(new Set([`"Driver":"${name === 'exec.nomad.hcl' ? 'exec' : 'raw_exec'}"`]));
    expect(JSON.stringify(job)).toContain('"command":"/bin/sh"');
  });
});
