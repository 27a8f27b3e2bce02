import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { RecordedApi } from '../support/recorded-api.js';
import { ALLOC, EVAL, NODE, placed, tasks } from '../support/recorded-objects.js';

describe('allocations against recorded answers of the API', () => {
  let api: RecordedApi;

  beforeEach(async () => {
    api = await RecordedApi.start();
  });

  afterEach(() => api.stop());

  const play: RecordedApi['play'] = (line, ...answers) => api.play(line, ...answers);
  const run: RecordedApi['run'] = (...call) => api.run(...call);

  describe('allocations', () => {
    const frames = (text: string, heartbeat = '{}') =>
      `${heartbeat}${JSON.stringify({ Offset: 1, Data: Buffer.from(text).toString('base64'), File: 'f' })}`;

    it('CL-402, CL-405, CL-407: status', async () => {
      play('GET /v1/allocations', [placed]);
      play(`GET /v1/allocation/${ALLOC}`, {
        ...placed,
        Name: 'web.cache[0]',
        JobID: 'web',
        Job: tasks('redis'),
        ClientStatus: 'running',
        TaskStates: {
          redis: {
            State: 'running',
            Restarts: 0,
            StartedAt: '2026-03-01T10:00:00Z',
            Events: [
              { Type: 'Received', Time: 1_772_359_200_000_000_000, DisplayMessage: 'Task received by client' },
              { Type: 'Started', Time: 1_772_359_201_000_000_000, DisplayMessage: 'Task started by client' },
            ],
          },
        },
      });
      const { code, out, err } = await run(['alloc', 'status', '0f9e']);
      expect(code).toBe(0);
      expect(out).toContain(`ID                  = ${ALLOC}\nEval ID             = 6b4c1d2e\n`);
      expect(out).toContain('Job Version         = 3\n');
      expect(out).toContain('\nTask "redis" is "running"\nTask Events:\nStarted At     = <ts>\nFinished At    = N/A\n');
      expect(out).toContain(
        'Time                  Type      Description\n<ts>  Started   Task started by client\n<ts>  Received ',
      );
      expect(err).toBe("Couldn't retrieve stats: Unexpected response code: 404\n");
      expect(api.seen[0]?.query.get('prefix')).toBe('0f9e');
    });

    it('CL-410, CL-1106: an allocation without anything does not crash it', async () => {
      play('GET /v1/allocations', [placed]);
      play(`GET /v1/allocation/${ALLOC}`, { ID: ALLOC });
      for (const flags of [[], ['-verbose'], ['-short']])
        expect((await run(['alloc', 'status', ...flags, ALLOC])).code).toBe(0);
    });

    it('CL-156: nothing found is an error; several matches are an answer of alloc status alone', async () => {
      play('GET /v1/allocations', [], [placed, { ...placed, ID: '0f9e0000-0000-4000-8000-000000000009' }]);
      expect((await run(['alloc', 'status', 'ffff'])).err).toBe('No allocation(s) with prefix or id "ffff" found\n');
      const several = await run(['alloc', 'status', '0f9e']);
      expect(several.code).toBe(0);
      expect(several.out).toMatch(/^Prefix matched multiple allocations\n\nID /);
      expect((await run(['alloc', 'logs', '0f9e'])).code).toBe(1);
    });

    it('CL-413, CL-415: logs of the only task, from the start', async () => {
      play('GET /v1/allocations', [placed]);
      play(`GET /v1/allocation/${ALLOC}`, { ...placed, Job: tasks('redis') });
      play(`GET /v1/client/fs/logs/${ALLOC}`, (response) => response.end(frames('hello\n') + frames('\u001b[1mworld')));
      expect((await run(['logs', '-stderr', '0f9e'])).out).toBe('hello\n\u001b[1mworld');
      expect(Object.fromEntries(api.seen.at(-1)?.query ?? [])).toEqual({
        namespace: 'default',
        task: 'redis',
        type: 'stderr',
        follow: 'false',
        origin: 'start',
        offset: '0',
      });
      expect((await run(['logs', '-tail', '-n', '1', '0f9e'])).out).toBe('\u001b[1mworld');
      expect(Object.fromEntries(api.seen.at(-1)?.query ?? [])).toMatchObject({ origin: 'end', offset: '120' });
    });

    it('CL-413: -f alone follows both outputs, each to its own', async () => {
      play('GET /v1/allocations', [placed]);
      play(`GET /v1/allocation/${ALLOC}`, { ...placed, Job: tasks('redis') });
      play(`GET /v1/client/fs/logs/${ALLOC}`, (response, { query }) => response.end(frames(`${query.get('type')}\n`)));
      const { code, out, err } = await run(['alloc', 'logs', '-f', '0f9e']);
      expect([code, out, err]).toEqual([0, 'stdout\n', 'stderr\n']);
      expect(api.seen.slice(-2).map(({ query }) => query.get('origin'))).toEqual(['end', 'end']);
    });

    it('CL-415: Ctrl-C while following is no failure', async () => {
      play('GET /v1/allocations', [placed]);
      play(`GET /v1/allocation/${ALLOC}`, { ...placed, Job: tasks('redis') });
      play(`GET /v1/client/fs/logs/${ALLOC}`, (response) => void response.write(frames('one\n')));
      const { code, err } = await run(['logs', '-f', '-stdout', '0f9e'], {}, /one/);
      expect([code, err]).toEqual([0, '']);
    });

    it('CL-411, CL-412, CL-414, CL-415: refusals', async () => {
      play('GET /v1/allocations', [placed]);
      play(`GET /v1/allocation/${ALLOC}`, { ...placed, Job: tasks('a', 'b') });
      play(`GET /v1/client/fs/logs/${ALLOC}`, [404, 'task "a" not started yet. No logs available']);
      const err = async (...words: string[]) => (await run(['alloc', 'logs', ...words])).err;
      expect(await err()).toBe("An allocation ID is required\nFor additional help try 'waybill alloc logs -help'\n");
      expect(await err('a', 'b', 'c')).toMatch(/^This command takes one or two arguments\n/);
      expect(await err('-n=1', '-c=1', 'x')).toBe('both -n and -c set\n');
      expect(await err('-stdout', '-stderr', 'x')).toBe('Unable to support both stdout and stderr\n');
      expect(await err('0f9e')).toBe(
        'Failed to validate task: Allocation "0f9e8d7c" is running the following tasks:\n  * a\n  * b\n\nPlease specify the task.\n',
      );
      expect(await err('-task', 'c', '0f9e')).toBe(
        'Failed to validate task: Could not find task named: c, found:\na\nb\n',
      );
      expect(await err('0f9e', 'a')).toBe(
        'Failed to read stdout file: Unexpected response code: 404 (task "a" not started yet. No logs available)\n',
      );
    });
  });

  describe('actions on an allocation', () => {
    const job = { ...tasks('web', 'proxy'), Type: 'service' };
    beforeEach(() => {
      play('GET /v1/allocations', [placed]);
      play(`GET /v1/allocation/${ALLOC}`, { ...placed, Job: job });
    });

    it('JR-992, CL-155, CL-156: which allocation is meant', async () => {
      const restart = (prefix: string) => run(['alloc', 'restart', prefix]);
      expect((await restart('0')).err).toBe('Alloc ID must contain at least two characters.\n');
      play('GET /v1/allocations', []);
      expect((await restart('0f9')).err).toBe('No allocation(s) with prefix or id "0f9" found\n');
      expect(api.seen.at(-1)?.query.get('prefix')).toBe('0f');
      play('GET /v1/allocations', [placed, { ...placed, ID: '0fffffff-0000-4000-8000-000000000009' }]);
      const several = await restart('0f');
      expect([several.code, several.out]).toEqual([1, '']);
      expect(several.err).toMatch(/^Prefix matched multiple allocations\n\nID .*\n0f9e8d7c .*\n0fffffff .*\n$/);
    });

    it('JR-991, JR-994: restart is one call; success prints nothing', async () => {
      play(`PUT /v1/client/allocation/${ALLOC}/restart`, { Index: 0 });
      for (const [words, body] of [
        [[], { TaskName: '', AllTasks: false }],
        [['-all-tasks'], { TaskName: '', AllTasks: true }],
        [['-task', 'web'], { TaskName: 'web', AllTasks: false }],
      ] as const) {
        const { code, out, err } = await run(['alloc', 'restart', ...words, '0f9e']);
        expect([code, out, err]).toEqual([0, '', '']);
        expect(JSON.parse(api.seen.at(-1)?.body ?? '')).toEqual(body);
      }
      await run(['alloc', 'restart', '-task=proxy', '0f9e', 'web']);
      expect(JSON.parse(api.seen.at(-1)?.body ?? '')).toMatchObject({ TaskName: 'proxy' });
    });

    it('JR-991, JR-993, JR-994: what restart refuses', async () => {
      play(`PUT /v1/client/allocation/${ALLOC}/restart`, [409, 'Task not running']);
      const err = async (...words: string[]) => (await run(['alloc', 'restart', ...words])).err;
      expect(await err()).toMatch(/^This command takes one or two arguments: <alloc-id> <task-name>\n/);
      expect(await err('-all-tasks', '0f9e', 'web')).toBe(
        'The -all-tasks option is not allowed when restarting a specific task.\n',
      );
      expect(await err('0')).toBe('Alloc ID must contain at least two characters.\n');
      expect(await err('0f9e', 'x')).toBe('Could not find task named: x, found:\nweb\nproxy\n');
      expect(await err('0f9e', 'web')).toBe(
        'Failed to restart task:\n\nUnexpected response code: 409 (Task not running)\n',
      );
      expect(await err('0f9e')).toMatch(/^Failed to restart allocation:\n\nUnexpected response code: 409/);
      play(`GET /v1/allocation/${ALLOC}`, { ...placed, TaskGroup: 'other', Job: job });
      expect(await err('0f9e', 'web')).toBe('Could not find allocation task group: other\n');
      play(`GET /v1/allocation/${ALLOC}`, placed);
      expect(await err('0f9e', 'web')).toMatch(/^Failed to restart task:/);
    });

    it('CL-442: signal', async () => {
      play(`PUT /v1/client/allocation/${ALLOC}/signal`, { Index: 0 });
      expect(await run(['alloc', 'signal', '0f9e'])).toEqual({ code: 0, out: '', err: '' });
      expect(JSON.parse(api.seen.at(-1)?.body ?? '')).toEqual({ Task: '', Signal: 'SIGKILL' });
      await run(['alloc', 'signal', '-s', 'SIGHUP', '0f9e', 'web']);
      expect(JSON.parse(api.seen.at(-1)?.body ?? '')).toEqual({ Task: 'web', Signal: 'SIGHUP' });
      expect((await run(['alloc', 'signal', '0f9e', 'x'])).err).toMatch(/^Could not find task named: x, found:/);
      play(`PUT /v1/client/allocation/${ALLOC}/signal`, [409, 'Task not running']);
      expect((await run(['alloc', 'signal', '0f9e'])).err).toBe(
        'Error signalling allocation: Unexpected response code: 409 (Task not running)\n',
      );
    });

    it('CL-441: stop, detached or watched; batch is rescheduled', async () => {
      play(`PUT /v1/allocation/${ALLOC}/stop`, { EvalID: EVAL, Index: 9 });
      play(`GET /v1/evaluation/${EVAL}`, { ID: EVAL, JobID: 'web', Status: 'complete' });
      play(`GET /v1/evaluation/${EVAL}/allocations`, []);
      expect((await run(['alloc', 'stop', '-detach', '0f9e'])).out).toBe(`${EVAL}\n`);
      expect(Object.fromEntries(api.seen.at(-1)?.query ?? [])).toEqual({ namespace: 'default' });
      const { code, out } = await run(['alloc', 'stop', '-no-shutdown-delay', '0f9e']);
      expect([code, out.includes('finished with status "complete"')]).toEqual([0, true]);
      play(`GET /v1/allocation/${ALLOC}`, { ...placed, Job: { ...job, Type: 'batch' } });
      await run(['alloc', 'stop', '-no-shutdown-delay', '-detach', '0f9e']);
      expect(Object.fromEntries(api.seen.at(-1)?.query ?? [])).toEqual({
        namespace: 'default',
        no_shutdown_delay: 'true',
        reschedule: 'true',
      });
      play(`PUT /v1/allocation/${ALLOC}/stop`, [404, 'allocation not found']);
      expect((await run(['alloc', 'stop', '0f9e'])).err).toBe(
        'Error stopping allocation: Unexpected response code: 404 (allocation not found)\n',
      );
    });

    it('CL-405, CL-406, CL-408, CL-146: use beside what was asked for, and with -stats all that was measured', async () => {
      const usage = {
        MemoryStats: { RSS: 5 << 20, Swap: 0, Measured: ['RSS', 'Swap'] },
        CpuStats: { SystemMode: 1, UserMode: 2.5, Percent: 3.5, TotalTicks: 35.7, Measured: ['User Mode', 'Percent'] },
      };
      play(`GET /v1/client/allocation/${ALLOC}/stats`, {
        ResourceUsage: usage,
        Tasks: {
          web: { ResourceUsage: usage },
          // A kernel that does not tell the resident memory, and one that measured none.
          untold: { ResourceUsage: { MemoryStats: { RSS: 0, Usage: 7 << 20, Measured: ['Usage'] } } },
          none: { ResourceUsage: { MemoryStats: { RSS: 0, Usage: 9 << 20, Measured: ['RSS', 'Usage'] } } },
        },
      });
      const asked = { Cpu: { CpuShares: 100 }, Memory: { MemoryMB: 64 } };
      play(`GET /v1/allocation/${ALLOC}`, {
        ...placed,
        Job: job,
        TaskStates: { web: { State: 'running' }, untold: { State: 'running' }, none: { State: 'running' } },
        AllocatedResources: { Tasks: { web: asked, untold: asked, none: asked } },
      });
      const { code, out, err } = await run(['alloc', 'status', '-stats', '0f9e']);
      expect([code, err]).toEqual([0, '']);
      expect(out).toContain('35/100 MHz  5.0 MiB/64 MiB');
      expect(out).toMatch(/Task "untold" [^]*? 7\.0 MiB\/64 MiB/);
      expect(out).toMatch(/Task "none" [^]*? 0 B\/64 MiB/);
      expect(out).toContain('Memory Stats\nRSS      Swap\n5.0 MiB  0 B\n');
      expect(out).toContain('CPU Stats\nPercent  User Mode\n3.50%    2.50%\n');
    });

    it('CL-409: -short is a row per task, with the last that happened to it', async () => {
      const Events = [
        { Type: 'Received', Time: 1_772_359_200_000_000_000 },
        { Type: 'Started', Time: 1_772_359_201_000_000_000 },
      ];
      play(`GET /v1/allocation/${ALLOC}`, {
        ...placed,
        Name: 'web.cache[0]',
        TaskStates: { web: { State: 'running', Events }, fetch: { State: 'dead' }, proxy: { State: 'running' } },
        AllocatedResources: {
          Tasks: {},
          TaskLifecycles: { fetch: { Hook: 'prestart' }, proxy: { Hook: 'prestart', Sidecar: true }, web: null },
        },
      });
      const [list = '', tasks = ''] = (await run(['alloc', 'status', '-short', '0f9e'])).out.split('\nTasks\n');
      expect(list.split('\n').map((row) => row.split(' ')[0])).toEqual(['ID', 'Name', 'Created', 'Modified', '']);
      expect(
        tasks
          .trim()
          .split('\n')
          .map((row) => row.split(/ {2,}/)),
      ).toEqual([
        ['Name', 'State', 'Last Event', 'Time', 'Lifecycle'],
        ['fetch', 'dead', '<none>', '<none>', 'prestart'],
        ['proxy', 'running', '<none>', '<none>', 'prestart sidecar'],
        ['web', 'running', 'Started', '<ts>', 'main'],
      ]);
    });

    it('CL-409, CL-222: -verbose ends with the placement, and the scores of the nodes', async () => {
      const ScoreMetaData = [{ NodeID: NODE, Scores: { binpack: 0.5 }, NormScore: 0.5 }];
      play(`GET /v1/allocation/${ALLOC}`, { ...placed, Metrics: { NodesEvaluated: 1, ScoreMetaData } });
      const { out } = await run(['alloc', 'status', '-verbose', '0f9e']);
      expect(out.split('\nPlacement Metrics\n')[1]?.replaceAll(/ {2,}/g, '  ')).toBe(
        `  Node  binpack  final score\n  ${NODE}  0.5  0.5\n`,
      );
    });

    it('CL-444: pausing is refused with what the server says', async () => {
      const pause = `/v1/client/allocation/${ALLOC}/pause`;
      play(`PUT ${pause}`, [501, 'Nomad Enterprise only endpoint']);
      play(`GET ${pause}`, [501, 'Nomad Enterprise only endpoint']);
      for (const words of [['-state=pause'], ['-status'], []])
        expect(await run(['alloc', 'pause', ...words, '0f9e', 'web'])).toMatchObject({
          code: 1,
          err: 'Error pausing task: Unexpected response code: 501 (Nomad Enterprise only endpoint)\n',
        });
    });

    it('CL-1108: following goes on over empty frames, a task that restarts and a file that is rotated', async () => {
      const data = (text: string, File: string) => ({ Offset: 1, Data: Buffer.from(text).toString('base64'), File });
      const sent = [
        {},
        data('one\n', 'web.stdout.0'),
        { File: 'web.stdout.0', Data: '' },
        {},
        { FileEvent: 'file deleted', File: 'web.stdout.0' },
        data('two\n', 'web.stdout.1'),
        { FileEvent: 'file truncated', File: 'web.stdout.1' },
        data('three\n', 'web.stdout.1'),
      ];
      play(`GET /v1/client/fs/logs/${ALLOC}`, (response, { query }) => {
        if (query.get('type') === 'stdout') for (const one of sent) response.write(JSON.stringify(one));
        response.end();
      });
      expect(await run(['alloc', 'logs', '-f', '0f9e', 'web'])).toMatchObject({
        code: 0,
        out: 'one\ntwo\nthree\n',
        err: '',
      });
    });
  });
});
