import { execFileSync } from 'node:child_process';
import { mkdir, mkdtemp, readFile, rm, stat, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { NS_PER_SECOND, type Task, type Template } from '@waybill/model';
import { afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { aTask, FOREVER, setup } from '../../fixtures/running-allocation.js';
import { aTemplate } from '../../fixtures/task-template.js';
import { FILE_LOOK_MS } from '../templates/file-source.store.js';
import { WAIT_NOTICE_MS } from '../../waiting/wait-notice.js';
import { TemplateHook } from './template.hook.js';

let root: string;
const inTask = (name: string): string => path.join(root, 'web', name);

beforeAll(() => import('../templates/template-rendering.js')); // loading the module takes long, and would otherwise happen with the first template
beforeEach(async () => {
  root = await mkdtemp(path.join(tmpdir(), 'waybill-template-'));
  await mkdir(inTask('local'), { recursive: true });
  await mkdir(path.join(root, 'alloc'));
});
// A rendering for which a test did not wait may still write.
afterEach(() => rm(root, { recursive: true, force: true, maxRetries: 10 }));

/** Makes one task with templates. The test controls their only service. */
function templated(templates: Template[], over: Partial<Task> = {}) {
  let tell: (value: unknown) => void = () => {};
  let known: unknown;
  const source = {
    watch(_: string, told: (value: unknown) => void) {
      tell = told;
      if (known !== undefined) told(known);
    },
  };
  const paths = {
    allocDir: path.join(root, 'alloc'),
    logsDir: '',
    taskDir: path.join(root, 'web'),
    localDir: inTask('local'),
    secretsDir: inTask('secrets'),
    privateDir: inTask('private'),
  };
  const alloc = setup([aTask('web', FOREVER, { Templates: templates, ...over })], {
    paths,
    hooks: (time) => [
      new TemplateHook({
        clock: time,
        timers: time,
        random: () => 0.5,
        servers: () => ({ service: source, services: source, variable: source, variables: source }),
      }),
    ],
  });
  const last = () => alloc.runner.clientUpdate().TaskStates['web']?.Events.at(-1);
  const services = (...ids: string[]) => {
    known = ids.map((ID) => ({ ID }));
    tell(known);
  };
  /** Polls, because files are written outside of the fake clock. */
  const becomes = (look: () => unknown, value: unknown) =>
    expect
      .poll(async () => {
        await alloc.time.pass(0);
        return await look();
      })
      .toEqual(value);
  const file = (name = 'local/conf') => readFile(inTask(name), 'utf8').catch(() => null);
  return { ...alloc, last, services, becomes, file };
}

const OF_SERVICES = '{{ range nomadService "db" }}{{ .ID }} {{ end }}';

describe('templates of a task', () => {
  it('AG-292: are there before it starts, with their permissions; the file names come from the environment', async () => {
    const spec = aTemplate({
      EmbeddedTmpl: 'dc {{ env "NOMAD_DC" }}',
      Perms: '600',
      DestPath: '${NOMAD_TASK_DIR}/a/b',
    });
    const { runner, states, becomes, file } = templated([spec]);
    runner.runAllocation();
    await becomes(states, { web: 'running' });
    expect(await file('local/a/b')).toBe('dc dc1');
    expect((await stat(inTask('local/a/b'))).mode & 0o777).toBe(0o600);
  });

  it('AG-118: rendered again at each start: what has changed meanwhile is there', async () => {
    await writeFile(inTask('source'), 'one');
    const RestartPolicy = { Attempts: 1, Interval: 60 * NS_PER_SECOND, Delay: 0, Mode: 'fail', RenderTemplates: true };
    const task = { Config: { run_for: '5s', exit_code: 1 }, RestartPolicy };
    const { time, runner, becomes, file, events } = templated([aTemplate({ SourcePath: 'source' })], task);
    runner.runAllocation();
    await becomes(() => events('web')?.at(-1), 'Started');
    expect(await file()).toBe('one');
    await writeFile(inTask('source'), 'two');
    await time.pass(5_000);
    await becomes(() => events('web')?.slice(-2), ['Restarting', 'Started']);
    expect(await file()).toBe('two');
  });

  it('AG-292: the task waits for what is missing, and says for what', async () => {
    const { time, runner, states, last, services, becomes, file } = templated([
      aTemplate({ EmbeddedTmpl: OF_SERVICES }),
    ]);
    runner.runAllocation();
    await time.pass(WAIT_NOTICE_MS - 1);
    await becomes(states, { web: 'pending' });
    await time.pass(WAIT_NOTICE_MS);
    expect(last()).toMatchObject({ Type: 'Template', Message: '', DisplayMessage: 'Missing: service(db)' });
    expect(states()).toEqual({ web: 'pending' });
    services('a');
    await becomes(states, { web: 'running' });
    expect(await file()).toBe('a ');
  });

  it('AG-158, AG-292: killed while it waits it never starts', async () => {
    const { time, runner, events } = templated([aTemplate({ EmbeddedTmpl: OF_SERVICES })]);
    runner.runAllocation();
    await time.pass(10);
    void runner.kill();
    await time.pass(10);
    expect(runner.isOver).toBe(true);
    expect(events('web')).toEqual(['Received', 'Task Setup', 'Killing']);
    expect(time.pending).toBe(0);
  });

  it('AG-292: a change restarts it after a part of the splay, uncounted; nothing new changes nothing', async () => {
    const { time, runner, states, last, services, becomes, file, events } = templated([
      aTemplate({ EmbeddedTmpl: OF_SERVICES }),
    ]);
    runner.runAllocation();
    await time.pass(10);
    services('a');
    await becomes(states, { web: 'running' });
    services('a');
    await time.pass(60_000);
    services('a', 'b');
    await becomes(file, 'a b ');
    expect(last()?.Type).toBe('Started');
    const changedMs = time.nowMs();
    await expect
      .poll(async () => {
        await time.pass(200);
        return events('web')?.filter((type) => type === 'Started');
      })
      .toHaveLength(2);
    expect(time.nowMs() - changedMs).toBeGreaterThanOrEqual(2_500);
    const signaled = runner.clientUpdate().TaskStates['web']?.Events.find(({ Type }) => Type === 'Restart Signaled');
    expect(signaled?.DisplayMessage).toBe('Template with change_mode restart re-rendered');
    expect(states()).toEqual({ web: 'running' });
  });

  it.each([
    ['signal', { ChangeSignal: 'SIGHUP' }, 'Task being sent signal SIGHUP: Template re-rendered'],
    ['noop', {}, 'Task started by client'],
  ])('AG-292: change_mode %s', async (ChangeMode, over, display) => {
    const spec = aTemplate({ EmbeddedTmpl: OF_SERVICES, ChangeMode, Splay: 0, ...over });
    const { time, runner, states, last, services, becomes, file } = templated([spec]);
    runner.runAllocation();
    await time.pass(10);
    services('a');
    await becomes(states, { web: 'running' });
    services('b');
    await becomes(file, 'b ');
    await becomes(() => last()?.DisplayMessage, display);
    expect(states()).toEqual({ web: 'running' });
  });

  it('AG-292: one that is rendered once stays as it is; one that wants quiet gets it', async () => {
    const Wait = { Min: 4 * NS_PER_SECOND, Max: 10 * NS_PER_SECOND };
    const { time, runner, states, services, becomes, file } = templated([
      aTemplate({ EmbeddedTmpl: OF_SERVICES, ChangeMode: 'noop', Once: true, DestPath: 'local/once' }),
      aTemplate({ EmbeddedTmpl: OF_SERVICES, ChangeMode: 'noop', Wait }),
    ]);
    runner.runAllocation();
    await time.pass(10);
    services('a');
    await becomes(states, { web: 'running' });
    for (const id of ['b', 'c', 'd']) {
      services(id);
      await time.pass(3_000);
      await becomes(file, 'a ');
    }
    services('e');
    await time.pass(1_100); // not four quiet seconds yet, but ten since the first change
    await becomes(file, 'e ');
    expect(await file('local/once')).toBe('a ');
  });

  it.each([
    [
      'a text that is none',
      { EmbeddedTmpl: '{{ nope }}' },
      /^Template failed: template: local\/conf:1:4: function "nope"/,
    ],
    [
      'a place outside of the allocation',
      { DestPath: '../../x' },
      /^Template failed: path .* escapes the alloc directory$/,
    ],
    ['a link that leads out', { DestPath: 'local/out/x' }, /^Template failed: path .* escapes the alloc directory$/],
    ['a source outside of the allocation', { SourcePath: '../../x' }, /^Template failed: path .* escapes/],
    [
      'a line that is no variable',
      { EmbeddedTmpl: 'x y', Envvars: true },
      /^Template failed: .* line 1 is no KEY=value/,
    ],
  ])('AG-292: %s ends it', async (_what, over, why) => {
    await symlink('/tmp', inTask('local/out'));
    const { runner, states, events, becomes } = templated([aTemplate(over)]);
    runner.runAllocation();
    await becomes(states, { web: 'dead failed' });
    expect(events('web')?.slice(-2)).toEqual(['Killing', 'Not Restarting']);
    expect(runner.clientUpdate().TaskStates['web']?.Events.at(-2)?.DisplayMessage).toMatch(why);
  });

  it('AG-292: one that fails while the task runs kills it, failed', async () => {
    const text = '{{ range nomadService "db" }}{{ index (split "-" .ID) 1 }}{{ end }}';
    const { time, runner, states, services, becomes } = templated([aTemplate({ EmbeddedTmpl: text })]);
    runner.runAllocation();
    await time.pass(10);
    services('a-1');
    await becomes(states, { web: 'running' });
    services('a');
    await becomes(states, { web: 'dead failed' });
    expect(runner.clientUpdate().TaskStates['web']?.Events.map(({ DisplayMessage }) => DisplayMessage)).toContainEqual(
      expect.stringContaining('Template failed: template: local/conf:1'),
    );
  });

  it('AG-37, AG-292: a pipe in the place of a file holds nobody up', async () => {
    execFileSync('mkfifo', [inTask('local/pipe'), inTask('local/conf')]);
    const { time, runner, becomes, file, states } = templated([aTemplate({ EmbeddedTmpl: '{{ file "local/pipe" }}' })]);
    runner.runAllocation();
    await becomes(() => states(), { web: 'pending' });
    await rm(inTask('local/pipe'));
    await writeFile(inTask('local/pipe'), 'text');
    await becomes(async () => {
      await time.pass(FILE_LOOK_MS);
      return (await stat(inTask('local/conf'))).isFile() && file();
    }, 'text');
  });

  it('AG-37, AG-292: nor does one in the place of a source', async () => {
    execFileSync('mkfifo', [inTask('local/source')]);
    const { runner, becomes } = templated([aTemplate({ SourcePath: 'local/source' })]);
    const why = () =>
      runner.clientUpdate().TaskStates['web']?.Events.find(({ Type }) => Type === 'Killing')?.DisplayMessage;
    runner.runAllocation();
    await becomes(why, `Template failed: ${inTask('local/source')} is no regular file`);
  });

  it('AG-293: environment is what the task gets, and a source may be a file of it', async () => {
    await writeFile(inTask('local/source'), 'GREETING="hello {{ env "NOMAD_DC" }}"');
    const spec = aTemplate({ SourcePath: 'local/source', Envvars: true, DestPath: 'secrets/env' });
    const task = { Env: { GREETING: 'other' }, Config: { run_for: '1000h', stdout_string: '${GREETING}' } };
    const { runner, states, records, alloc, becomes } = templated([spec], task);
    runner.runAllocation();
    await becomes(states, { web: 'running' });
    const handle = records.saved.get(alloc.ID)?.tasks['web']?.handle;
    expect(handle?.state).toMatchObject({ config: { stdout_string: 'hello dc1' } });
  });

  it('AG-292: a task that ran on without its agent is told what has changed meanwhile', async () => {
    const { time, runner, states, services, becomes, file, records, alloc, make } = templated([
      aTemplate({ EmbeddedTmpl: OF_SERVICES, Splay: 0 }),
    ]);
    runner.runAllocation();
    await time.pass(10);
    services('a');
    await becomes(states, { web: 'running' });
    const again = make(records.saved.get(alloc.ID)!);
    again.runAllocation();
    await time.pass(10);
    services('b');
    await becomes(file, 'b ');
    await becomes(() => again.clientUpdate().TaskStates['web']?.Restarts, 1);
  });

  it('AG-414: a change and a kill at the same moment: killed once, no start afterwards', async () => {
    const { time, runner, states, services, becomes, file, events } = templated(
      [aTemplate({ EmbeddedTmpl: OF_SERVICES, Splay: 0 })],
      { Config: { run_for: '1000h', kill_after: '2s' } },
    );
    runner.runAllocation();
    await time.pass(10);
    services('a');
    await becomes(states, { web: 'running' });
    services('b');
    await becomes(file, 'b ');
    await becomes(() => events('web')?.at(-1), 'Restart Signaled');
    void runner.kill();
    await time.pass(60_000);
    expect(states()).toEqual({ web: 'dead' });
    expect(events('web')?.filter((type) => type === 'Started' || type === 'Killed')).toEqual(['Started', 'Killed']);
  });
});
