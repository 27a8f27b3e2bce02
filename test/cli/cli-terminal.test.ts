import { spawnSync } from 'node:child_process';
import { mkdtemp, rm, symlink } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { hasPseudoTerminal, PseudoTerminal } from '../support/pseudo-terminal.js';
import { RecordedApi } from '../support/recorded-api.js';

const BIN = fileURLToPath(new URL('../../apps/cli/bin/waybill.js', import.meta.url));
const EVAL = '6b4c1d2e-0000-4000-8000-000000000001';
const ESCAPE = '\u001b[';

let api: RecordedApi;
beforeEach(async () => {
  api = await RecordedApi.start();
});
afterEach(() => api.stop());

const stub = (ID: string, Namespace = 'default') => ({
  ID,
  Namespace,
  Type: 'service',
  Priority: 50,
  Status: 'running',
});
const stops = () => api.seen.filter(({ line }) => line.startsWith('DELETE'));

describe.skipIf(!hasPseudoTerminal)('the command line on a terminal (needs `script` of util-linux)', () => {
  const start = (...words: string[]) =>
    PseudoTerminal.start([process.execPath, BIN, ...words], { WAYBILL_ADDR: api.url });

  it.each([
    ['y', 0, undefined],
    ['', 0, 'Cancelling job stop'],
    ['No', 0, 'Cancelling job stop'],
    ['nonsense', 0, 'Cancelling job stop'],
    ['yes', 0, 'For confirmation, an exact ‘y’ is required.'],
    ['Y', 1, "No confirmation detected. For confirmation, an exact 'y' is required."],
    ['x', 1, "No confirmation detected. For confirmation, an exact 'y' is required."],
    ['ctrl-c', 1, 'Failed to parse answer: '],
  ])('CL-163: "%s" to a question exits with %i', async (answer, code, line) => {
    api.play('GET /v1/jobs', [stub('web')]);
    api.play('DELETE /v1/job/web', { EvalID: EVAL });
    const terminal = start('job', 'stop', '-detach', 'we');
    await terminal.shows('Are you sure you want to stop job "web"? [y/N] ');
    if (answer === 'ctrl-c') terminal.ctrlC();
    else terminal.enter(answer);
    expect(await terminal.exit()).toBe(code);
    if (line !== undefined) expect(terminal.screen).toContain(line);
    expect(stops()).toHaveLength(line === undefined ? 1 : 0);
  });

  it.each([
    ['', 1],
    ['y', 1],
    ['n', 0],
  ])('CL-713: "%s" to the question about a claim deletes %i', async (answer, deleted) => {
    const ID = 'aa00c1e2-0000-4000-8000-000000000001';
    api.play('GET /v1/volumes/claims', [{ ID, Namespace: 'default' }]);
    api.play(`DELETE /v1/volumes/claim/${ID}`, '');
    const terminal = start('volume', 'claim', 'delete', 'aa');
    await terminal.shows(`Are you sure you want to delete task group host volume claim ${ID}? [Y/n] `);
    expect(terminal.screen).toContain('may be lost to it');
    terminal.enter(answer);
    expect(await terminal.exit()).toBe(0);
    expect(stops()).toHaveLength(deleted);
  });

  it('CL-164: -yes asks nothing', async () => {
    api.play('GET /v1/jobs', [stub('web')]);
    api.play('DELETE /v1/job/web', { EvalID: EVAL });
    const terminal = start('job', 'stop', '-detach', '-yes', 'we');
    expect(await terminal.exit()).toBe(0);
    expect(terminal.screen).toBe(`${EVAL}\n`);
  });

  it('CL-165: Ctrl-C ends a monitor with 130, and says that only the watching ends', async () => {
    api.play('GET /v1/evaluations', [{ ID: EVAL, Status: 'pending' }]);
    api.play(`GET /v1/evaluation/${EVAL}`, { ID: EVAL, Status: 'pending', JobID: 'web' }, () => undefined);
    api.play(`GET /v1/evaluation/${EVAL}/allocations`, []);
    const terminal = start('eval', 'status', '-monitor', EVAL);
    await terminal.shows('Evaluation triggered by job "web"');
    terminal.ctrlC();
    expect(await terminal.exit()).toBe(130);
    expect(terminal.screen).toContain('To watch on: waybill eval status -monitor 6b4c1d2e\n');
    expect(terminal.screen).toContain('Interrupted: what was asked of the server goes on there\n');
  });

  it('CL-212: a deployment is redrawn in place under a line that turns; its end stays', async () => {
    const DEPLOYMENT = 'a1b2c3d4-0000-4000-8000-000000000002';
    const running = { ID: DEPLOYMENT, JobID: 'web', Namespace: 'default', JobVersion: 0, Status: 'running' };
    for (const [Status, end] of [
      ['successful', '✓ Deployment "a1b2c3d4" successful\n'],
      ['cancelled', '! Deployment "a1b2c3d4" cancelled\n'],
    ] as const) {
      let isOver = false;
      api.play('GET /v1/deployments', [running]);
      api.play(`GET /v1/deployment/${DEPLOYMENT}`, running, (response, { query }) => {
        const send = () => {
          if (query.has('index') && !isOver) return void setTimeout(send, 20);
          response
            .setHeader('X-Nomad-Index', '11')
            .end(JSON.stringify({ ...running, Status: isOver ? Status : 'running' }));
        };
        send();
      });
      const terminal = start('deployment', 'status', '-monitor', 'a1b2');
      const behind = await terminal.shows('Deployment "a1b2c3d4" in progress...');
      await terminal.shows('Deployment "a1b2c3d4" in progress...', behind);
      expect(terminal.screen).toMatch(/[⠋-⠿] Deployment "a1b2c3d4" in progress...\n\n +\d{4}-.*\n +ID +/);
      // Up to where it began, and cleared.
      expect(terminal.raw).toContain(`A${ESCAPE}0J`);
      isOver = true;
      await terminal.shows(end);
      expect(await terminal.exit()).toBe(0);
    }
  });

  it('CL-134: long output is lines, whatever pager there is', async () => {
    api.play(
      'GET /v1/jobs',
      Array.from({ length: 300 }, (_, n) => stub(`job-${String(n).padStart(3, '0')}`)),
    );
    const terminal = PseudoTerminal.start([process.execPath, BIN, 'job', 'status'], {
      WAYBILL_ADDR: api.url,
      PAGER: '/bin/false',
      LESS: '',
    });
    expect(await terminal.exit()).toBe(0);
    expect(terminal.screen).toMatch(/^ID [^]*\njob-000 [^]*\njob-299 /);
    expect(terminal.raw).not.toContain(ESCAPE);
  });

  it('CL-132, CL-133: colours on a terminal, errors red, titles bold; none with -no-color', async () => {
    api.play('GET /v1/jobs', [stub('web')]);
    api.play('GET /v1/job/web', [500, 'boom']);
    const coloured = start('job', 'status', 'web');
    expect(await coloured.exit()).toBe(1);
    expect(coloured.raw).toContain(`${ESCAPE}31mError querying job`);
    const plain = start('job', 'status', '-no-color', 'web');
    await plain.exit();
    expect(plain.screen).toBe(coloured.screen);
    expect(plain.raw).not.toContain(ESCAPE);
  });
});

describe('the command line, not on a terminal', () => {
  const run = (...words: string[]) => api.run(words);

  it('CL-132, CL-133: without a terminal no escape sequence, with -force-color the same text in colour', async () => {
    api.play('GET /v1/jobs', [stub('web')]);
    api.play('GET /v1/job/web', [500, 'boom']);
    const plain = await run('job', 'status', 'web');
    expect(plain.err).not.toContain(ESCAPE);
    expect((await run('job', 'status', '-force-color', 'web')).err).toBe(
      `${ESCAPE}31m${plain.err.trimEnd()}${ESCAPE}39m\n`,
    );
    expect((await run('job', 'status', '-force-color', '-no-color', 'web')).err).toBe(plain.err);
  });

  it('CL-152, CL-158: an exact ID wins over longer ones, unless two namespaces have it', async () => {
    api.play('DELETE /v1/job/web', { EvalID: EVAL });
    api.play('GET /v1/jobs', [stub('web'), stub('web-2')]);
    expect(await run('job', 'stop', '-detach', '-yes', 'web')).toEqual({ code: 0, out: `${EVAL}\n`, err: '' });
    api.play('GET /v1/jobs', [stub('web', 'dev'), stub('web', 'prod')]);
    const two = await run('job', 'stop', '-detach', '-yes', '-namespace=*', 'web');
    expect(two.code).toBe(1);
    expect(two.err).toMatch(/^Prefix "web" matched multiple jobs\n\nID +Namespace +Type .*\nweb +dev .*\nweb +prod /);
    expect(stops()).toHaveLength(1);
  });

  it('CL-161, CL-162: an error is one line, whatever the server answers', async () => {
    const error = async (...play: Parameters<RecordedApi['play']>) => {
      api.play(...play);
      const { code, err } = await run('node', 'status');
      expect(code).toBe(1);
      return err;
    };
    const doing = 'Error querying node status: ';
    expect(await error('GET /v1/nodes', [500, ' boom \n'])).toBe(`${doing}Unexpected response code: 500 (boom)\n`);
    expect(await error('GET /v1/nodes', [201, ''])).toBe(`${doing}Unexpected response code: 201\n`);
    expect(await error('GET /v1/nodes', (response) => void response.destroy())).toMatch(
      new RegExp(`^${doing}Get "${api.url}/v1/nodes": [^\\n]+\\n$`),
    );
    // An answer of another shape than any server gives is the program's own failure.
    expect(await error('GET /v1/nodes', [{ ID: 5 }])).toMatch(/^[^\n]+\n$/);
    api.play('GET /v1/nodes', [{ ID: 5 }]);
    expect((await api.run(['node', 'status'], { WAYBILL_DEBUG: '1' })).err).toMatch(/\n +at /);
  });

  it('CL-101: called through a link named nomad, it suggests that name', async () => {
    const directory = await mkdtemp(path.join(tmpdir(), 'waybill-link-'));
    try {
      const link = path.join(directory, 'nomad');
      await symlink(BIN, link);
      const { status, stderr } = spawnSync(link, ['job', 'run'], { encoding: 'utf8' });
      expect([status, stderr]).toEqual([
        1,
        "This command takes one argument: <path>\nFor additional help try 'nomad job run -help'\n",
      ]);
      expect(spawnSync(link, ['version'], { encoding: 'utf8' }).stdout).toMatch(/^Waybill v/);
    } finally {
      await rm(directory, { recursive: true });
    }
  });
});
