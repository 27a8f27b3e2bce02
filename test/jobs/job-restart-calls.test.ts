import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { hasPseudoTerminal, PseudoTerminal } from '../support/pseudo-terminal.js';
import { RecordedApi } from '../support/recorded-api.js';

const BIN = fileURLToPath(new URL('../../apps/cli/bin/waybill.js', import.meta.url));
const id = (n: number) => `${String(n).repeat(8)}-0000-4000-8000-000000000000`;

describe('what job restart asks the API', () => {
  let api: RecordedApi;
  beforeEach(async () => {
    api = await RecordedApi.start();
  });
  afterEach(() => api.stop());

  const run = (...words: string[]) => api.run(['job', 'restart', ...words]);
  const lines = () => api.seen.map(({ line }) => line);

  /** A job `web` with so many allocations that run, the first of which is the newest. */
  function job(allocs: number, members: object = {}, versions: object | null = [{ Version: 0, Type: 'service' }]) {
    api.play('GET /v1/jobs', [{ ID: 'web', Namespace: 'prod' }]);
    api.play('GET /v1/job/web', { ID: 'web', Namespace: 'prod', Type: 'service', Multiregion: null, ...members });
    api.play('GET /v1/job/web/versions', { Versions: versions, Diffs: null });
    const list = Array.from({ length: allocs }, (_, i) => ({
      ID: id(i + 1),
      JobVersion: 0,
      JobType: 'service',
      TaskGroup: 'cache',
      DesiredStatus: 'run',
      ClientStatus: 'running',
      TaskStates: { main: {}, side: {} },
      NextAllocation: '',
      CreateIndex: 100 - i,
    }));
    api.play('GET /v1/job/web/allocations', list);
    api.play('GET /v1/job/web/deployments', []);
    for (const { ID } of list) {
      api.play(`PUT /v1/client/allocation/${ID}/restart`, { Index: 0 });
      api.play(`PUT /v1/allocation/${ID}/stop`, { EvalID: 'e', Index: 10 });
    }
    return list;
  }

  it('JR-205, JR-209, JR-995, JR-996: the calls in their order, within the namespace of the job that was found', async () => {
    job(3);
    const { code } = await run('-batch-size=2', '-on-error=fail', 'we');
    expect(code).toBe(0);
    const each = (n: number) => ['GET /v1/job/web/deployments', `PUT /v1/client/allocation/${id(n)}/restart`];
    expect(lines()).toEqual([
      'GET /v1/jobs',
      'GET /v1/job/web',
      'GET /v1/job/web/versions',
      'GET /v1/job/web/allocations',
      ...each(1),
      ...each(2),
      ...each(3),
    ]);
    expect(Object.fromEntries(api.seen[0]!.query)).toEqual({ prefix: 'we', per_page: '20' });
    for (const call of api.seen.slice(1)) expect(call.query.get('namespace')).toBe('prod');
    for (const call of api.seen.slice(3, 5)) expect(call.query.get('all')).toBe('true');
  });

  it('JR-551, JR-552, JR-553, JR-556: what a restart in place sends', async () => {
    job(1);
    const bodies = async (...words: string[]) => {
      api.seen.length = 0;
      expect((await run('-yes', '-no-shutdown-delay', ...words, 'web')).code).toBe(0);
      return api.seen
        .filter(({ line }) => line.startsWith('PUT'))
        .map(({ body, query }) => [JSON.parse(body), query.size]);
    };
    expect(await bodies()).toEqual([[{ TaskName: '', AllTasks: false }, 1]]);
    expect(await bodies('-all-tasks')).toEqual([[{ TaskName: '', AllTasks: true }, 1]]);
    expect(await bodies('-task=side', '-task=main', '-task=other')).toEqual([
      [{ TaskName: 'side', AllTasks: false }, 1],
      [{ TaskName: 'main', AllTasks: false }, 1],
    ]);
  });

  it('JR-602, JR-603, JR-604, JR-701, JR-703, JR-E01: what a replacement of a system job sends whose version is gone', async () => {
    const [alloc] = job(1, { Type: 'system' }, null);
    api.play('GET /v1/job/web/allocations', [{ ...alloc, JobType: '' }]);
    api.play(`GET /v1/allocation/${id(1)}`, {
      ID: id(1),
      ClientStatus: 'running',
      DesiredStatus: 'stop',
      NextAllocation: id(2),
    });
    api.play(`GET /v1/allocation/${id(2)}`, { ID: id(2), ClientStatus: 'running', DesiredStatus: 'run' });
    api.play('PUT /v1/job/web/evaluate', { EvalID: 'e' });
    api.play('GET /v1/job/web/evaluations', () => undefined);
    const { code, out } = await run('-reschedule', '-no-shutdown-delay', '-yes', 'web');
    expect([code, out.includes(`Allocation "22222222" is "running"`)]).toEqual([0, true]);
    const call = (line: string) => api.seen.filter((seen) => seen.line === line);
    expect(call(`PUT /v1/allocation/${id(1)}/stop`)[0]?.query.get('no_shutdown_delay')).toBe('true');
    expect(call('PUT /v1/job/web/evaluate').map(({ body }) => JSON.parse(body) as unknown)).toEqual([
      { JobID: 'web', EvalOptions: { ForceReschedule: true } },
    ]);
    expect(call('GET /v1/job/web/evaluations')[0]?.query.get('index')).toBe('10');
    expect(call(`GET /v1/allocation/${id(1)}`).map(({ query }) => query.get('index'))).toEqual(['1', '1']);
    expect(call(`GET /v1/allocation/${id(2)}`).map(({ query }) => query.get('index'))).toEqual(['1']);
    const stop = lines().indexOf(`PUT /v1/allocation/${id(1)}/stop`);
    expect(lines()[stop + 1]).toBe(`GET /v1/allocation/${id(1)}`);
    expect(lines()[stop + 2]).toBe('PUT /v1/job/web/evaluate');
  });

  it('JR-602: nothing is said of shutdown delays that are to be honoured', async () => {
    job(1);
    api.play(`PUT /v1/allocation/${id(1)}/stop`, [403, 'Permission denied']);
    const { code, err } = await run('-reschedule', '-yes', 'web');
    expect(api.seen.at(-1)?.query.has('no_shutdown_delay')).toBe(false);
    expect([code, err]).toEqual([
      1,
      '\n1 error occurred while restarting job:\n' +
        '* Error restarting allocation "11111111": Failed to stop allocation: Unexpected response code: 403 (Permission denied)\n',
    ]);
  });

  it('JR-201, JR-202, JR-E17: which job is meant', async () => {
    const stub = (ID: string, Namespace: string) => ({
      ID,
      Namespace,
      Type: 'service',
      Priority: 50,
      Status: 'running',
      SubmitTime: 0,
    });
    job(0);
    api.play('GET /v1/jobs', [stub('web', 'prod'), stub('web-2', 'prod')]);
    expect((await run('-yes', 'web')).out).toBe('No allocations to restart\n');
    expect((await run('-yes', 'we')).err).toMatch(
      /^Prefix "we" matched multiple jobs\n\nID +Type .*\nweb .*\nweb-2 .*\n$/,
    );
    api.play('GET /v1/jobs', [stub('web-2', 'dev'), stub('web', 'prod')]);
    expect((await run('-yes', '-namespace=*', 'web')).out).toBe('No allocations to restart\n');
    expect(api.seen.at(-1)?.query.get('namespace')).toBe('prod');
    api.play('GET /v1/jobs', [stub('web', 'dev'), stub('web', 'prod')]);
    expect((await run('-yes', '-namespace=*', 'web')).err).toMatch(
      /^Prefix "web" matched multiple jobs\n\nID +Namespace/,
    );
    api.play(
      'GET /v1/jobs',
      Array.from({ length: 20 }, (_, i) => stub(`web-${i}`, 'prod')),
    );
    expect((await run('-yes', 'web')).err).toMatch(/\n\(results may be truncated\)\n$/);
  });

  it('JR-203, JR-210, JR-E15: without list-jobs an exact ID works, in the namespace that was given', async () => {
    job(1);
    api.play('GET /v1/jobs', [403, 'Permission denied']);
    expect((await run('-yes', '-namespace=prod', ' web ')).code).toBe(0);
    for (const call of api.seen) expect(call.query.get('namespace')).toBe('prod');
    api.play('GET /v1/job/we', [404, 'job not found']);
    expect((await run('-yes', 'we')).err).toBe(
      'Error querying job "we": Unexpected response code: 404 (job not found)\n',
    );
    api.play(`PUT /v1/client/allocation/${id(1)}/restart`, [403, 'Permission denied']);
    const { code, err } = await run('-yes', 'web');
    expect([code, err.includes('(Permission denied)')]).toEqual([1, true]);
  });

  it('JR-204, JR-209: lookups that fail', async () => {
    const failing = async (line: string) => {
      job(1);
      api.play(line, [500, 'boom']);
      const { code, err } = await run('-yes', 'web');
      expect(code).toBe(1);
      return err.trimEnd();
    };
    const cause = 'Unexpected response code: 500 (boom)';
    expect(await failing('GET /v1/jobs')).toBe(`Error querying job prefix "web": ${cause}`);
    expect(await failing('GET /v1/job/web')).toBe(`Error querying job "web": ${cause}`);
    expect(await failing('GET /v1/job/web/versions')).toBe(`Error retrieving versions of job "web": ${cause}`);
    expect(await failing('GET /v1/job/web/allocations')).toBe(`Error retrieving allocations for job "web": ${cause}`);
    expect(await failing('GET /v1/job/web/deployments')).toContain(
      `* Error retrieving deployments for job "web": ${cause}`,
    );
  });

  it('JR-302, JR-310, JR-905: why some are left out, as it is, and without escape sequences', async () => {
    const [first, second, third, fourth] = job(4);
    api.play('GET /v1/job/web/allocations', [
      { ...first, DesiredStatus: 'stop', ClientStatus: 'complete' },
      { ...second, NextAllocation: id(9) },
      { ...third, TaskGroup: 'other' },
      { ...fourth, TaskStates: { third: {} } },
    ]);
    const { out } = await run('-yes', '-verbose', '-group=cache', '-task=main', 'web');
    expect(out).toBe(
      `    <ts>: Skipping allocation "${id(1)}" because desired status is "stop" and client status is "complete"\n` +
        `    <ts>: Skipping allocation "${id(2)}" because it has already been replaced by "${id(9)}"\n` +
        `    <ts>: Skipping allocation "${id(3)}" because it doesn't have any of requested groups\n` +
        `    <ts>: Skipping allocation "${id(4)}" because it doesn't have any of requested tasks\n` +
        'No allocations to restart\n',
    );
    expect(lines()).not.toContain('GET /v1/job/web/deployments');
  });

  it('JR-208: with -yes a multiregion job is restarted in the addressed region', async () => {
    job(1, { Multiregion: { Regions: [{ Name: 'east' }, { Name: 'west' }] } });
    expect((await run('-yes', '-region=east', 'web')).code).toBe(0);
    for (const call of api.seen) expect(call.query.get('region')).toBe('east');
  });

  it('JR-805: another signal than Ctrl-C ends it in the ordinary way', async () => {
    job(1);
    api.play('GET /v1/job/web/versions', () => undefined);
    const child = spawn(process.execPath, [BIN, 'job', 'restart', '-yes', 'web'], { env: { WAYBILL_ADDR: api.url } });
    const closed = once(child, 'close');
    await expect.poll(() => lines()).toContain('GET /v1/job/web/versions');
    child.kill('SIGTERM');
    expect(await closed).toEqual([null, 'SIGTERM']);
  });

  describe.skipIf(!hasPseudoTerminal)('on a terminal (needs `script` of util-linux)', () => {
    const start = (...words: string[]) =>
      PseudoTerminal.start([process.execPath, BIN, 'job', 'restart', ...words], { WAYBILL_ADDR: api.url });

    it.each(['n', '', 'ctrl-c'])('JR-208, JR-508, JR-E05: "%s" to the question about regions', async (answer) => {
      job(1, { Multiregion: { Regions: [{ Name: 'east' }] } });
      const terminal = start('web');
      await terminal.shows('Are you sure you want to restart multi-region job "web" in a single region? [y/N] ');
      if (answer === 'ctrl-c') terminal.ctrlC();
      else terminal.enter(answer);
      await terminal.shows('\n\nJob restart canceled.\n');
      expect(await terminal.exit()).toBe(0);
      expect(lines()).not.toContain('GET /v1/job/web/versions');
    });

    it('JR-208: yes', async () => {
      job(1, { Multiregion: { Regions: [{ Name: 'east' }] } });
      const terminal = start('web');
      await terminal.shows('[y/N] ');
      terminal.enter('yes');
      expect(await terminal.exit()).toBe(0);
      expect(terminal.screen).toContain('Job restarted successfully!');
    });

    it('JR-802, JR-803: Ctrl-C while the job is looked up; a second one ends it with what is under way', async () => {
      job(1);
      api.play('GET /v1/job/web/versions', () => undefined);
      const terminal = start('web');
      await expect.poll(() => lines()).toContain('GET /v1/job/web/versions');
      terminal.ctrlC();
      await terminal.shows('Are you sure you want to stop the restart process? [y/N] ');
      terminal.ctrlC();
      await terminal.shows('Canceling job restart process');
      expect(await terminal.exit()).toBe(0);
    });
  });
});
