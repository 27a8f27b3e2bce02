import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { CATALOGUE } from '../../apps/cli/src/catalogue.js';
import { RecordedApi } from '../support/recorded-api.js';

const ALLOC = '0f9e8d7c-0000-4000-8000-000000000002';
const OTHER = '1f9e8d7c-0000-4000-8000-000000000002';
const BIG = '9007199254740993';

/** An answer whose numbers stand as they are written here. */
const raw = (text: string) => (response: { end: (text: string) => void }) => response.end(text);

describe('data for programs', () => {
  let api: RecordedApi;
  beforeEach(async () => {
    api = await RecordedApi.start();
    api.play('GET /v1/jobs', [{ ID: 'web', Namespace: 'default' }]);
    api.play('GET /v1/job/web/allocations', [
      { ID: ALLOC, TaskGroup: 'a' },
      { ID: OTHER, TaskGroup: 'b' },
    ]);
  });
  afterEach(() => api.stop());

  it('CL-160: job allocs -t prints full IDs', async () => {
    const { code, out } = await api.run(['job', 'allocs', '-t', '{{range .}}{{.ID}}{{"\\n"}}{{end}}', 'web']);
    expect([code, out]).toEqual([0, `${ALLOC}\n${OTHER}\n\n`]);
  });

  it.each([
    ['{{len .}} {{(index . 1).TaskGroup}}', '2 b'],
    ['{{range $i, $a := .}}{{if $i}},{{end}}{{$a.TaskGroup}}{{else}}none{{end}}', 'a,b'],
    ['{{with index . 0}}{{printf "%s/%d" .TaskGroup 3}}{{end}}', 'a/3'],
    ['{{/* nothing */ -}}  {{ "x" | println | js }}', 'x\\u000A'],
    [
      '{{eq (len .) 2}}{{and true (lt 1 2)}}{{not false}}{{slice "abc" 1 2}}{{urlquery "a b"}}{{html "<"}}',
      'truetruetrueba+b&lt;',
    ],
  ])('CL-160: %s', async (template, text) => {
    expect((await api.run(['job', 'allocs', '-t', template, 'web'])).out).toBe(`${text}\n`);
  });

  it('CL-160: an unknown field and bad syntax say so and exit with 1', async () => {
    for (const template of ['{{range .}}{{.Nope}}{{end}}', '{{range .}}'])
      expect(await api.run(['job', 'allocs', '-t', template, 'web'])).toMatchObject({
        code: 1,
        out: '',
        err: expect.stringMatching(/^Error formatting the data: template: .+\n$/),
      });
    expect(api.seen.map(({ line }) => line)).toEqual(['GET /v1/jobs', 'GET /v1/job/web/allocations']);
  });

  it('CL-159: every command with -json has -t, and both together are refused before any request', async () => {
    const failures: string[] = [];
    // Their `-json` is about what they read, write or log.
    const about = /^(job (run|plan|validate)|(node pool|volume) init|(node pool|namespace) apply|monitor)$/;
    for (const { words, load } of CATALOGUE) {
      const { command } = await load();
      const names = command.flags.map(({ name }) => name);
      if (about.test(words) || !names.includes('json')) continue;
      if (!names.includes('t')) failures.push(`${words} has no -t`);
      const args = Array.from({ length: command.takes.min }, () => 'x');
      const { code, err } = await api.run([...words.split(' '), '-json', '-t', '{{.}}', ...args]);
      if (code !== 1 || err !== 'Both json and template formatting are not allowed\n')
        failures.push(`${words}: ${err}`);
    }
    expect(failures).toEqual([]);
    expect(api.seen).toEqual([]);
  });

  it('CL-126, CL-1116: integers beyond 2^53, letters and signs of HTML come out as they are, in JSON and in templates', async () => {
    const job = `{"ID": "web", "Namespace": "default", "Name": "<größe> & 東京", "SubmitTime": ${BIG}}`;
    api.play('GET /v1/job/web', raw(job));
    const { out } = await api.run(['job', 'inspect', '-json', 'web']);
    expect(out).toContain(`    "SubmitTime": ${BIG}\n`);
    expect(out).toContain('    "Name": "<größe> & 東京",\n');
    const rendered = await api.run([
      'job',
      'inspect',
      '-t',
      '{{.Name}} {{.SubmitTime}} {{lt .SubmitTime 9007199254740994}}',
      'web',
    ]);
    expect(rendered.out).toBe(`<größe> & 東京 ${BIG} true\n`);
  });

  it('CL-319: -t of job status gets the same data as -json', async () => {
    api.play('GET /v1/job/web', { ID: 'web', Namespace: 'default' });
    api.play('GET /v1/job/web/summary', { JobID: 'web', Summary: { a: { Running: 2 } } });
    api.play('GET /v1/job/web/deployment', null);
    api.play('GET /v1/job/web/evaluations', []);
    const { out } = await api.run(['job', 'status', '-json', 'web']);
    const [data] = JSON.parse(out);
    expect(Object.keys(data)).toEqual(['Summary', 'Allocations', 'LatestDeployment', 'Evaluations']);
    const template = '{{range .}}{{.Summary.JobID}} {{.Summary.Summary.a.Running}} {{len .Allocations}}{{end}}';
    expect((await api.run(['job', 'status', '-t', template, 'web'])).out).toBe('web 2 2\n');
  });

  it('CL-323: plan has -json-output and -t, not both', async () => {
    const directory = await mkdtemp(path.join(tmpdir(), 'waybill-cli-'));
    const file = path.join(directory, 'job.json');
    await writeFile(file, '{"Job": {"ID": "web"}}');
    api.play('PUT /v1/job/web/plan', { Diff: { Type: 'None' }, JobModifyIndex: 12 });
    expect(await api.run(['job', 'plan', '-t', '{{.JobModifyIndex}}', file])).toMatchObject({ code: 0, out: '12\n' });
    expect(JSON.parse((await api.run(['job', 'plan', '-json-output', file])).out)).toMatchObject({
      JobModifyIndex: 12,
    });
    expect(await api.run(['job', 'plan', '-json-output', '-t', '{{.}}', file])).toMatchObject({
      code: 255,
      err: 'Both -json-output and -t formatting are not allowed\n',
    });
    await rm(directory, { recursive: true });
  });
});
