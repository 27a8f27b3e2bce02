// What an external driver costs a machine's agent: beside a built-in one at the start of a task, and for statistics.
import { randomUUID } from 'node:crypto';
import { chmodSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { allocStats, EVERYBODY_CALLS, NatsRpc, UserRpc } from '@waybill/rpc';
import { systemClock } from '@waybill/service';
import { draftTxn, fixtures, serviceActor } from '@waybill/state';
import { median } from './harness.mjs';
import { ServiceProcesses, until } from './processes.mjs';
import { stateOf } from './state-copy.mjs';

export const describe = 'an external driver: start of a task beside a built-in one, statistics of 500 tasks';

const STARTS = 40;
const GROUPS = 10;
const TASKS_OF_GROUP = 50;
const MEASURED_SECONDS = 10;
const at = (/** @type {string} */ file) => fileURLToPath(new URL(`../${file}`, import.meta.url));
const PROGRAMS = {
  idle: at('test/support/plugins/idle-driver.mjs'),
  command: at('examples/plugins/dist/command-driver.js'),
};
const SLEEP = { command: '/bin/sleep', args: ['100000'] };
/** The configurations of tasks, by driver. */
const CONFIGS = { idle: {}, mock_driver: { run_for: '10h' }, command: SLEEP, raw_exec: SLEEP };

/** @param {import('./harness.mjs').Bench} ctx */
export async function run(ctx) {
  const dir = mkdtempSync(path.join(tmpdir(), 'waybill-bench-plugins-'));
  ctx.onEnd(() => rmSync(dir, { recursive: true, force: true }));
  mkdirSync(path.join(dir, 'plugins'), { mode: 0o755 });
  for (const [name, program] of Object.entries(PROGRAMS)) {
    const file = path.join(dir, 'plugins', name);
    writeFileSync(file, `#!/bin/sh\nexec '${process.execPath}' '${program}'\n`);
    chmodSync(file, 0o755);
  }
  const processes = await ServiceProcesses.start(ctx);
  for (const service of ['nodes', 'broker', 'scheduler']) await processes.add(service);
  const env = {
    WAYBILL_AGENT_DIR: dir,
    WAYBILL_AGENT_STOP_TASKS_ON_EXIT: 'true',
    WAYBILL_AGENT_SECRETS_IN_MEMORY: 'false', // a mount for each task would stay where the directory is removed
    WAYBILL_PLUGINS: '{"idle":{},"command":{}}',
  };
  await processes.add('agent', 'agent', env, ['--max-semi-space-size=4']); // as in k8s/agents/agent.yaml
  const state = await stateOf(ctx, processes.stack.natsUrl);
  const ready = () =>
    [...state.tables.nodes.all()].find(
      ({ Status, Drivers }) => Status === 'ready' && Drivers.idle?.Healthy && Drivers.command?.Healthy,
    );
  await until('the driver is healthy', () => ready() !== undefined);
  const { nc, inboxPrefix } = processes.link;
  const rpc = new UserRpc(new NatsRpc(nc, inboxPrefix), EVERYBODY_CALLS);
  /** @param {string} id @param {string} driver @param {number} groups @param {number} tasks */
  const begin = async (id, driver, groups, tasks) => {
    const context = { timeNs: systemClock.nowMs() * 1e6, requestId: randomUUID(), actor: serviceActor('bench') };
    const registration = registrationOf(id, driver, groups, tasks);
    await processes.journal.publish(draftTxn('JobRegister', registration, { ...context, namespace: 'default' }));
    const found = () => [...state.tables.allocs.all()].filter(({ JobID }) => JobID === id);
    const isUp = ({ ClientStatus, TaskStates }) =>
      ClientStatus === 'running' && Object.values(TaskStates).every(({ State }) => State === 'running');
    await until(`${id} runs`, () => found().filter(isUp).length === groups, 180_000);
    return found();
  };

  ctx.log(`${STARTS} starts with each driver, in turn`);
  /** @type {Record<string, number[]>} */
  const startsMs = { idle: [], mock_driver: [], command: [], raw_exec: [] };
  for (let n = 0; n < STARTS; n++)
    for (const [driver, times] of Object.entries(startsMs)) {
      const [alloc] = await begin(`${driver}-${n}`, driver, 1, 1);
      times.push(msBetween(alloc, 'Received', 'Started'));
    }
  const ms = Object.fromEntries(Object.entries(startsMs).map(([driver, times]) => [driver, median(times)]));
  ctx.metric('externalStartMs', ms.command, { unit: 'ms' });
  ctx.metric('externalStartOverheadMs', ms.command - ms.raw_exec, { unit: 'ms', goal: { below: 15 } });
  ctx.metric('callsMs', ms.idle - ms.mock_driver, { unit: 'ms' });

  ctx.log(`${GROUPS * TASKS_OF_GROUP} tasks in one plugin`);
  const allocs = await begin('many', 'idle', GROUPS, TASKS_OF_GROUP);
  const cpuPercent = async () => {
    await idle(2);
    const before = processes.cpuSeconds('agent');
    await idle(MEASURED_SECONDS);
    return ((processes.cpuSeconds('agent') - before) / MEASURED_SECONDS) * 100;
  };
  const without = await cpuPercent();
  for (const { ID } of allocs) {
    // The first question begins the statistics of each task, which the driver reports every second from then on.
    const { Tasks } = await rpc.ask(allocStats, { AllocID: ID, Task: '' }, { target: ready()?.ID ?? '' });
    const measured = Object.values(Tasks).filter(({ ResourceUsage }) => ResourceUsage.MemoryStats.RSS > 0);
    if (measured.length !== TASKS_OF_GROUP) throw new Error(`${measured.length} of the tasks of ${ID} have statistics`);
  }
  const withStats = await cpuPercent();
  ctx.metric('idleCpuPercent', without, { unit: '%' });
  ctx.metric('statsCpuPercent', withStats - without, { unit: '%', goal: { below: 3 } });
  ctx.note(
    'starts: from the allocation seen to the task running, by the drivers command and raw_exec, each with sleep',
  );
  ctx.note('callsMs: the same by a plugin that does nothing, with its output, above mock_driver, which has none');
  ctx.note('statsCpuPercent: processor of the agent with its log collector above its use without statistics');
}

/** @param {number} seconds */
const idle = (seconds) => new Promise((resolve) => setTimeout(resolve, seconds * 1_000));

/** @param {import('@waybill/model').Allocation} alloc @param {string} from @param {string} to */
function msBetween(alloc, from, to) {
  const at = (type) => alloc.TaskStates.t0?.Events.find(({ Type }) => Type === type)?.Time ?? Number.NaN;
  return (at(to) - at(from)) / 1e6;
}

/** @param {string} ID @param {string} Driver @param {number} Count @param {number} tasks */
function registrationOf(ID, Driver, Count, tasks) {
  const Tasks = Array.from({ length: tasks }, (_, n) => {
    const task = fixtures.aTask({ Name: `t${n}`, Driver, Config: CONFIGS[Driver] });
    return {
      ...task,
      Resources: { ...task.Resources, CPU: 1, MemoryMB: 1 },
      LogConfig: { ...task.LogConfig, MaxFiles: 1, MaxFileSizeMB: 1 },
    };
  });
  const group = fixtures.aGroup({}, 'batch');
  const wanted = { ...group, Count, Tasks, EphemeralDisk: { ...group.EphemeralDisk, SizeMB: tasks + 10 } };
  const job = fixtures.aJob({ ID, Type: 'batch', TaskGroups: [wanted] });
  return fixtures.aRegistration(job, { Eval: fixtures.anEval({ ID: randomUUID(), JobID: ID, Type: 'batch' }) });
}
