import { randomBytes } from 'node:crypto';
import { mkdtemp, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { ApiClient } from '../support/api-client.js';
import { runCli } from '../support/cli.js';
import { eventually } from '../support/wait.js';
import { WaybillProcesses } from '../support/waybill-processes.js';

let waybill: WaybillProcesses;
let api: ApiClient;
let folder: string;

beforeAll(async () => {
  folder = await mkdtemp(path.join(tmpdir(), 'job-files-'));
  waybill = await WaybillProcesses.startTogether({ WAYBILL_KEYRING_KEY: randomBytes(32).toString('hex') });
  api = waybill.api;
  await eventually('the node is ready', async () =>
    (await api.get<{ Status: string }[]>('/v1/nodes')).some((node) => node.Status === 'ready'),
  );
});
afterAll(async () => {
  await waybill?.stop();
  await rm(folder, { recursive: true, force: true });
});

async function parse(body: unknown, method = 'PUT'): Promise<{ status: number; text: string }> {
  const content = typeof body === 'string' ? body : JSON.stringify(body);
  const answer = await api.raw('/v1/jobs/parse', { method, ...(method === 'GET' ? {} : { body: content }) });
  return { status: answer.status, text: await answer.text() };
}

const cli = (...args: string[]) => runCli(api.url, args);

async function file(name: string, text: string): Promise<string> {
  const at = path.join(folder, name);
  await writeFile(at, text);
  return at;
}

const greeter = `
variable "greeting" { type = string }
variable "names" {
  type    = list(string)
  default = ["Ann"]
}
job "greeter" {
  type = "batch"
  group "g" {
    dynamic "task" {
      for_each = var.names
      labels   = ["to-\${task.value}"]
      content {
        driver = "raw_exec"
        config {
          command = "/bin/sh"
          args    = ["-c", "echo \${var.greeting} \${task.value} on \${node.unique.name}"]
        }
        resources { memory = 16 }
      }
    }
  }
}
`;

describe('/v1/jobs/parse', () => {
  it('JS-210 API-180: answers with the job itself, by PUT and POST, canonicalised if asked', async () => {
    for (const method of ['PUT', 'POST']) {
      const { status, text } = await parse({ JobHCL: 'job "x" {\n group "g" {}\n}', hclv1: true }, method);
      expect(status, text).toBe(200);
      expect(JSON.parse(text)).toMatchObject({ ID: 'x', Region: null, TaskGroups: [{ Name: 'g', Count: null }] });
    }
    const { text } = await parse({ JobHCL: 'job "x" {\n group "g" {}\n}', Canonicalize: true });
    expect(JSON.parse(text)).toMatchObject({ Region: 'global', TaskGroups: [{ Count: 1 }] });
    expect(await parse('', 'GET')).toEqual({ status: 405, text: 'Invalid method' });
  });

  it('JS-212: what cannot be parsed is a 400 that says why', async () => {
    expect(await parse('')).toEqual({ status: 400, text: 'Request body is empty' });
    expect((await parse('{')).status).toBe(400);
    expect(await parse({ JobHCL: '' })).toEqual({ status: 400, text: 'Job spec is empty' });
    expect(await parse({ JobHCL: 'job "x" {\n priorty = 1\n}' })).toEqual({
      status: 400,
      text: 'Failed to parse job: input.hcl:2,2-9: Unsupported argument; An argument named "priorty" is not expected here. Did you mean "priority"?',
    });
  });

  it('JS-213 JS-90: variables are a file’s text, undeclared ones ignored, the machine’s files out of reach', async () => {
    const JobHCL = 'variable "p" {}\njob "x" {\n priority = var.p\n}';
    const { text } = await parse({ JobHCL, Variables: 'p = 7\nunknown = true\n' });
    expect(JSON.parse(text)).toMatchObject({ Priority: 7 });
    const reading = await parse({ JobHCL: 'job "x" {\n name = file("/etc/passwd")\n}' });
    expect(reading).toMatchObject({ status: 400 });
    expect(reading.text).toContain('Call to function "file" failed: filesystem function disabled.');
  });

  it('JS-214: a text that never ends is given up, others are answered meanwhile', async () => {
    const slow = parse({ JobHCL: 'job "x" {\n name = join("", [for i in range(9) : bcrypt(i, 16)])\n}' });
    const list = await api.raw('/v1/jobs');
    expect(list.status).toBe(200);
    expect(await slow).toEqual({ status: 400, text: 'Failed to parse job: parsing takes longer than 2 s' });
    expect((await parse({ JobHCL: 'job "x" {}' })).status).toBe(200);
  });

  it('jobspec.md 15: more than 4 MiB is refused', async () => {
    const { status, text } = await parse({ JobHCL: `# ${'x'.repeat(4 << 20)}\njob "x" {}` });
    expect([status, text.slice(0, 45)]).toEqual([400, 'Failed to parse job: <nil>: File too large; i']);
  });
});

describe('the command line with HCL', () => {
  it('JS-220 JS-223 CL-255: runs a file with variables, and sends its text along', async () => {
    const at = await file('greeter.nomad.hcl', greeter);
    const values = await file('values.hcl', 'greeting = "Hello"\n');
    const run = await cli('job', 'run', '-detach', '-var-file', values, '-var', 'names=["Bea","Cyd"]', at);
    expect(run).toMatchObject({ code: 0 });
    const job = await api.get<{ TaskGroups: { Tasks: { Name: string }[] }[]; Version: number }>('/v1/job/greeter');
    expect(job.TaskGroups[0]?.Tasks.map(({ Name }) => Name)).toEqual(['to-Bea', 'to-Cyd']);
    expect(await api.get('/v1/job/greeter/submission?version=0')).toMatchObject({
      Source: greeter,
      Format: 'hcl2',
      Variables: 'greeting = "Hello"\n\n\nnames = ["Bea","Cyd"]\n',
      VariableFlags: {},
    });
    await eventually('it has run', async () => {
      const allocs = await api.get<{ ClientStatus: string }[]>('/v1/job/greeter/allocations');
      return allocs.length > 0 && allocs.every(({ ClientStatus }) => ClientStatus === 'complete');
    });
  });

  it('JS-220 JS-190: errors show file, line, column, the line and a caret; plan exits with 255', async () => {
    const at = await file('bad.nomad.hcl', 'job "x" {\n  priorty = 1\n  group "g" { cuont = 1 }\n}\n');
    const message =
      `Error parsing job file from ${at}:\n` +
      'bad.nomad.hcl:2,3-10: Unsupported argument; An argument named "priorty" is not expected here. Did you mean "priority"?\n' +
      '  2 |   priorty = 1\n    |   ^^^^^^^\n' +
      'bad.nomad.hcl:3,15-20: Unsupported argument; An argument named "cuont" is not expected here. Did you mean "count"?\n' +
      '  3 |   group "g" { cuont = 1 }\n    |               ^^^^^\n';
    expect(await cli('job', 'run', at)).toMatchObject({ code: 1, err: message });
    expect(await cli('job', 'validate', at)).toMatchObject({ code: 1, err: message });
    expect(await cli('job', 'plan', at)).toMatchObject({ code: 255, err: message });
  });

  it('JS-10: a file that is no UTF-8 is refused, a byte-order mark is not', async () => {
    const at = await file('latin.nomad.hcl', '');
    await writeFile(at, Buffer.from('job "caf\xe9" {}\n', 'latin1'));
    expect(await cli('job', 'run', '-output', at)).toMatchObject({
      code: 1,
      err: `Error parsing job file from ${at}:\nInvalid character encoding; All input files must be UTF-8 encoded. Ensure that UTF-8 encoding is selected in your editor.\n`,
    });
    const marked = await file('marked.nomad.hcl', '\uFEFFjob "marked" {}\n');
    expect((await cli('job', 'run', '-output', marked)).out).toContain('"ID": "marked"');
  });

  it('JS-91: file functions see this machine, from the working directory', async () => {
    const text = await file('greeting.txt', 'from a file\n');
    const at = await file('reads.nomad.hcl', `job "reads" {\n name = chomp(file("${text}"))\n}\n`);
    expect((await cli('job', 'run', '-output', at)).out).toContain('"Name": "from a file"');
    const missing = await file('missing.nomad.hcl', 'job "x" {\n name = file("nope")\n}\n');
    expect((await cli('job', 'run', '-output', missing)).err).toContain(
      'Call to function "file" failed: no file exists at nope.',
    );
  });

  it('JS-78 CL-253: undeclared variables are errors unless -hcl2-strict=false', async () => {
    const at = await file('strict.nomad.hcl', 'job "strict" {}\n');
    const strict = await cli('job', 'run', '-output', '-var', 'a=1', at);
    expect(strict).toMatchObject({ code: 1 });
    expect(strict.err).toContain('Undefined -var variable; A "a" variable was passed in the command line');
    expect(await cli('job', 'run', '-output', '-hcl2-strict=false', '-var', 'a=1', at)).toMatchObject({ code: 0 });
  });

  it('JS-221 CL-254: JSON takes no variables, and is recognised without -json', async () => {
    const at = await file('job.json', '{"Job": {"ID": "j"}}');
    expect(await cli('job', 'run', '-output', at)).toMatchObject({ code: 0 });
    expect(await cli('job', 'run', '-output', '-var', 'a=1', at)).toMatchObject({
      code: 1,
      err: 'Invalid job options: cannot use variables with JSON files.\n',
    });
  });

  it('JS-222 CL-301: -output sends nothing, and can be fed back with -json', async () => {
    const at = await file('out.nomad.hcl', greeter.replace('job "greeter"', 'job "output"'));
    const { code, out } = await cli('job', 'run', '-output', '-var', 'greeting=Hi', at);
    expect(code).toBe(0);
    expect(out.startsWith('{\n    "Job": {')).toBe(true);
    expect((await api.raw('/v1/job/output')).status).toBe(404);
    expect(await cli('job', 'validate', '-json', await file('out.json', out))).toMatchObject({ code: 0 });
  });

  it('JS-224 CL-328: plan repeats the variables in the command it suggests', async () => {
    const at = await file('plan.nomad.hcl', greeter.replace('job "greeter"', 'job "planned"'));
    const { code, out } = await cli('job', 'plan', '-var', 'greeting=Hi', at);
    expect(code).toBe(1);
    expect(out).toContain(`job run -check-index 0 -var="greeting=Hi" ${at}`);
  });

  it('CL-360: job init writes an example that runs, once', async () => {
    const at = path.join(folder, 'example.nomad.hcl');
    expect(await cli('job', 'init', at)).toMatchObject({ code: 0, out: `Example job file written to ${at}\n` });
    expect((await stat(at)).mode & 0o007).toBe(0);
    const text = await readFile(at, 'utf8');
    expect(await cli('init', '-short', at)).toMatchObject({ code: 1, err: `Job '${at}' already exists\n` });
    expect(await readFile(at, 'utf8')).toBe(text);
    expect(await cli('job', 'init', '-connect', path.join(folder, 'c.hcl'))).toMatchObject({ code: 1 });
    expect(await cli('job', 'run', '-detach', at)).toMatchObject({ code: 0 });
    await eventually('the example runs', async () =>
      (await api.get<{ ClientStatus: string }[]>('/v1/job/example/allocations')).some(
        ({ ClientStatus }) => ClientStatus === 'running',
      ),
    );
  });

  it.each(['service', 'batch', 'system', 'placement', 'disconnect'])('examples/%s.nomad.hcl runs', async (name) => {
    const at = new URL(`../../examples/${name}.nomad.hcl`, import.meta.url).pathname;
    expect(await cli('job', 'run', '-detach', at)).toMatchObject({ code: 0 });
    await eventually(`${name} runs`, async () => {
      const allocs = await api.get<{ ClientStatus: string }[]>(`/v1/job/${name}/allocations`);
      const wanted = name === 'batch' ? ['complete'] : ['running'];
      return allocs.length > 0 && allocs.every(({ ClientStatus }) => wanted.includes(ClientStatus));
    });
  });

  it.runIf(process.getuid?.() === 0)(
    'AG-280: examples/exec.nomad.hcl runs in a root of its own (needs root)',
    async () => {
      const at = new URL('../../examples/exec.nomad.hcl', import.meta.url).pathname;
      expect(await cli('job', 'run', '-detach', at)).toMatchObject({ code: 0 });
      const log = await eventually('it says who it is', async () => {
        const { code, out } = await cli('alloc', 'logs', '-job', 'exec');
        return code === 0 && out.includes('Hello') ? out : undefined;
      });
      expect(log).toMatch(/^uid=65534\(nobody\) [^]*\nHello from \/local\n$/);
    },
  );

  it('examples/templates.nomad.hcl: the file says what the variables and the machine say', async () => {
    const at = new URL('../../examples/templates.nomad.hcl', import.meta.url).pathname;
    const features = 'features={search=true,export=false}';
    expect(await cli('job', 'run', '-detach', '-var', features, at)).toMatchObject({ code: 0 });
    const text = await eventually('the file is there', async () => {
      const { code, out } = await cli('alloc', 'fs', '-job', 'templates', 'configured/local/app.conf');
      return code === 0 ? out : undefined;
    });
    expect(text).toMatch(
      /^# templates\.app\[0\] in dc1\nlisten {4}= \d+\nlog_level = info\nfeature\.export = off\nfeature\.search = on\n$/,
    );
  });

  it('AG-292: examples/secret.nomad.hcl reads a variable by its identity, and restarts when it changes', async () => {
    const at = new URL('../../examples/secret.nomad.hcl', import.meta.url).pathname;
    await eventually('the keyring is ready', async () => {
      return (await cli('var', 'put', '-force', 'nomad/jobs/billing', 'password=first')).code === 0;
    });
    expect(await cli('job', 'run', '-detach', at)).toMatchObject({ code: 0 });
    const says = (text: string) =>
      eventually(`its output is ${text}`, async () =>
        (await cli('alloc', 'logs', '-job', 'billing')).out.includes(text),
      );
    await says('connecting with a password of 5 characters');
    expect(await cli('var', 'put', '-force', 'nomad/jobs/billing', 'password=second')).toMatchObject({ code: 0 });
    await says('connecting with a password of 6 characters');
    for (const words of ['root keyring list', 'root keyring rotate -now -full'])
      expect(await cli('operator', ...words.split(' '))).toMatchObject({ code: 0 });
    expect((await cli('var', 'get', '-item=password', 'nomad/jobs/billing')).out).toBe('second');
    expect((await cli('log', '-type=VarApplyState')).out).toContain('VarApplyState');
  });

  it.each(['csi', 'multiregion'])('examples/%s.nomad.hcl is right, but needs more than one machine', async (name) => {
    const at = new URL(`../../examples/${name}.nomad.hcl`, import.meta.url).pathname;
    expect(await cli('job', 'validate', at)).toMatchObject({ code: 0 });
  });

  it.each(['periodic', 'parameterized'])(
    'examples/%s.nomad.hcl is registered, and launched when asked',
    async (name) => {
      const at = new URL(`../../examples/${name}.nomad.hcl`, import.meta.url).pathname;
      expect(await cli('job', 'run', at)).toMatchObject({ code: 0 });
      if (name === 'periodic') await api.raw('/v1/job/periodic/periodic/force', { method: 'PUT' });
      else expect(await cli('job', 'dispatch', '-detach', '-meta', 'name=Ann', name)).toMatchObject({ code: 0 });
      await eventually(`${name} has run`, async () => {
        const jobs = await api.get<{ ParentID: string; Status: string }[]>('/v1/jobs');
        return jobs.some(({ ParentID, Status }) => ParentID === name && Status === 'dead');
      });
    },
  );
});
