import type { Allocation, TaskState } from '@waybill/model';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type ApiClient, shellJob } from '../support/api-client.js';
import { eventually } from '../support/wait.js';
import { WaybillProcesses } from '../support/waybill-processes.js';

let waybill: WaybillProcesses;
let api: ApiClient;

beforeAll(async () => {
  waybill = await WaybillProcesses.startTogether();
  api = waybill.api;
  await eventually('the node is ready', async () =>
    (await api.get<{ Status: string }[]>('/v1/nodes')).some((node) => node.Status === 'ready'),
  );
});
afterAll(() => waybill?.stop());

const allocOf = (job: string) =>
  eventually(`${job} runs`, async () => {
    const [found] = await api.get<Allocation[]>(`/v1/job/${job}/allocations`);
    return found?.ClientStatus === 'running' && api.get<Allocation>(`/v1/allocation/${found.ID}`);
  });
const stateOf = async (alloc: Allocation): Promise<TaskState> =>
  (await api.get<Allocation>(`/v1/allocation/${alloc.ID}`)).TaskStates['task']!;
const log = async (alloc: Allocation): Promise<string> =>
  (await api.raw(`/v1/client/fs/logs/${alloc.ID}?task=task&type=stdout&plain=true`)).text();
const file = async (alloc: Allocation, path: string): Promise<string> =>
  (await api.raw(`/v1/client/fs/cat/${alloc.ID}?path=${path}`)).text();

/** A job of one shell task, with templates and maybe a service of the task. */
function templated(id: string, line: string, Templates: object[], Services: object[] = []) {
  const job = shellJob(id, line);
  const task = (job as { TaskGroups: { Tasks: Record<string, unknown>[] }[] }).TaskGroups[0]!.Tasks[0]!;
  Object.assign(task, { Templates, Services });
  return job;
}

describe('templates of a task', () => {
  it('AG-292, AG-293: file and environment are there before it starts; news of a service signal it, without a restart', async () => {
    const list = '{{ range nomadService "db" }}{{ .Address }}:{{ .Port }} {{ end }}';
    const line = 'trap "cat local/db" HUP; echo "$GREETING"; cat local/db; while :; do sleep 0.1; done';
    await api.register(
      templated('reader', line, [
        { EmbeddedTmpl: `[${list}]`, DestPath: 'local/db', ChangeMode: 'signal', ChangeSignal: 'SIGHUP', Splay: 0 },
        {
          EmbeddedTmpl: '{{ range nomadServices }}{{ .Name }}:{{ range .Tags }}{{ . }}{{ end }};{{ end }}',
          DestPath: 'local/names',
          ChangeMode: 'noop',
        },
        { EmbeddedTmpl: 'GREETING=hello {{ env "node.datacenter" }}', DestPath: 'secrets/env', Envvars: true },
      ]),
    );
    const reader = await allocOf('reader');
    await eventually('it has said what it found', async () => (await log(reader)) === 'hello dc1\n[]');
    const db = { Name: 'db', Provider: 'nomad', Address: '10.1.2.3', Tags: ['sql'] };
    await api.register(templated('db', 'sleep 1000', [], [db]));
    await eventually('it is told', async () => (await log(reader)).includes('[10.1.2.3:0 ]'));
    await eventually('the names too', async () => (await file(reader, 'task/local/names')) === 'db:sql;');
    const state = await eventually('its event', async () => {
      const found = await stateOf(reader);
      return found.Events.at(-1)?.Type === 'Signaling' && found;
    });
    expect(state.Restarts).toBe(0);
    expect(state.Events.at(-1)?.DisplayMessage).toBe('Task being sent signal SIGHUP: Template re-rendered');
    await api.stop('db');
    await eventually('it is told again', async () => (await log(reader)).endsWith('[]'));
  });

  it('AG-292: a changed file restarts it, or runs a script in it', async () => {
    const line = 'cp local/out alloc.out; [ -e local/in ] || echo first > local/in; while :; do sleep 0.1; done';
    const ChangeScript = { Command: 'sh', Args: ['-c', 'echo "$NOMAD_TASK_NAME" > local/script'], Timeout: 5e9 };
    await api.register(
      templated('copier', `echo begin > local/in; ${line}`, [
        { EmbeddedTmpl: 'x{{ env "NOMAD_JOB_ID" }}', DestPath: 'local/out' },
        {
          EmbeddedTmpl: '{{ timestamp }}{{ with nomadService "other" }}!{{ end }}',
          DestPath: 'local/at',
          ChangeMode: 'script',
          ChangeScript,
          Splay: 0,
        },
      ]),
    );
    const copier = await allocOf('copier');
    expect(await file(copier, 'task/local/out')).toBe('xcopier');
    const other = { Name: 'other', Provider: 'nomad' };
    await api.register(templated('other', 'sleep 1000', [], [other]));
    await eventually('the script has run', async () => (await file(copier, 'task/local/script')) === 'task\n');
    expect((await stateOf(copier)).Restarts).toBe(0);
  });

  it('AG-292: one that never resolves keeps the task waiting, and it says for what; it can be stopped', async () => {
    await api.register(
      templated('waiter', 'sleep 1000', [{ EmbeddedTmpl: '{{ file "local/never" }}', DestPath: 'local/x' }]),
    );
    const event = await eventually('its event', async () => {
      const [found] = await api.get<Allocation[]>('/v1/job/waiter/allocations');
      return found?.TaskStates['task']?.Events.find(({ Type }) => Type === 'Template');
    });
    expect(event.DisplayMessage).toBe('Missing: file(local/never)');
    const [waiting] = await api.get<Allocation[]>('/v1/job/waiter/allocations');
    expect(waiting?.ClientStatus).toBe('pending');
    await api.stop('waiter');
    await eventually('it is over', async () => (await stateOf(waiting!)).State === 'dead');
  });
});
