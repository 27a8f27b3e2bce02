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

/** Jobs as people post them, with containers. */
const CONTAINERS = ['database.nomad.hcl', 'report.nomad.hcl', 'web-proxy.nomad.hcl'];

describe('example jobs', () => {
  it('are those that there should be', () =>
    expect(files.map((file) => file.replace('.nomad.hcl', ''))).toEqual([
      'batch',
      'csi',
      'database',
      'disconnect',
      'exec',
      'multiregion',
      'parameterized',
      'periodic',
      'placement',
      'report',
      'secret',
      'service',
      'system',
      'templates',
      'vault',
      'web-proxy',
    ]));

  it.each(examples)('%s is a job that the server takes', (name, text) => {
    const { job } = parseJob({ file: { name, text }, strict: true });
    const { errors, warnings } = validateJob(decodeJob(job));
    expect(errors).toEqual([]);
    const old = /^Task "postgres" has warnings: .*task network resources have been deprecated/su;
    expect(warnings).toEqual(name === 'database.nomad.hcl' ? [expect.stringMatching(old)] : []);
  });

  it.each(examples.filter(([name]) => !name.includes('short')))(
    '%s says in its first lines what it is and how to run it',
    (_, text) => {
      const [comment = ''] = text.split(/^(?!#)/mu, 1);
      expect(comment).toContain('waybill job run');
    },
  );

  it.each(examples.filter(([name]) => !CONTAINERS.includes(name)))(
    '%s needs nothing but a shell, exec.nomad.hcl an agent that is root besides',
    (name, text) => {
      const { job } = parseJob({ file: { name, text } });
      const drivers = JSON.stringify(job).match(/"Driver":"[^"]*"/gu);
      expect(new Set(drivers)).toEqual(new Set([`"Driver":"${name === 'exec.nomad.hcl' ? 'exec' : 'raw_exec'}"`]));
      expect(JSON.stringify(job)).toContain('"command":"/bin/sh"');
    },
  );

  it.each(examples.filter(([name]) => CONTAINERS.includes(name)))('%s needs Docker only', (_, text) => {
    const drivers = JSON.stringify(parseJob({ file: { name: '', text } }).job).match(/"Driver":"[^"]*"/gu);
    expect(new Set(drivers)).toEqual(new Set(['"Driver":"docker"']));
  });
});
