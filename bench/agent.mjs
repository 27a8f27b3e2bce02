// One real agent with real processes: what it costs to keep them, how long a start takes, how much output it takes in.
import { randomUUID } from 'node:crypto';
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { systemClock } from '@waybill/service';
import { draftTxn, fixtures, serviceActor } from '@waybill/state';
import { median } from './harness.mjs';
import { ServiceProcesses, until } from './processes.mjs';
import { stateOf } from './state-copy.mjs';

export const describe = 'one agent with 200 raw_exec tasks: memory, idle processor, start of a task, output';

const TASKS = 200;
const STARTS = 20;
const IDLE_SECONDS = 10;
const OUTPUT_MB = 400;
const LINE = 'x'.repeat(99);
const LAST_LINE = 'that was all';

/** @param {import('./harness.mjs').Bench} ctx */
export async function run(ctx) {
  const dir = mkdtempSync(path.join(tmpdir(), 'waybill-bench-agent-'));
  ctx.onEnd(() => rmSync(dir, { recursive: true, force: true }));
  const processes = await ServiceProcesses.start(ctx);
  for (const service of ['nodes', 'broker', 'scheduler']) await processes.add(service);
  const env = { WAYBILL_AGENT_DIR: dir, WAYBILL_AGENT_STOP_TASKS_ON_EXIT: 'true' };
  await processes.add('agent', 'agent', env, ['--max-semi-space-size=4']); // as in k8s/agents/agent.yaml
  const state = await stateOf(ctx, processes.stack.natsUrl);
  await until('the machine is ready', () => [...state.tables.nodes.all()].some(({ Status }) => Status === 'ready'));
  /** @param {string} id @param {number} count @param {string} line */
  const register = async (id, count, line) => {
    const context = { timeNs: systemClock.nowMs() * 1e6, requestId: randomUUID(), actor: serviceActor('bench') };
    await processes.journal.publish(
      draftTxn('JobRegister', registrationOf(id, count, line), { ...context, namespace: 'default' }),
    );
  };
  /** @param {string} id */
  const allocsOf = (id) => [...state.tables.allocs.all()].filter(({ JobID }) => JobID === id);
  /** @param {string} id @param {number} count @param {string} status */
  const reached = (id, count, status) =>
    until(
      `${id} is ${status}`,
      () => allocsOf(id).filter((alloc) => alloc.ClientStatus === status).length === count,
      120_000,
    );

  const startsMs = [];
  for (let n = 0; n < STARTS; n++) {
    await register(`start-${n}`, 1, 'exec sleep 100000');
    await reached(`start-${n}`, 1, 'running');
    startsMs.push(msBetween(allocsOf(`start-${n}`)[0], 'Received', 'Started'));
  }
  ctx.metric('taskStartMs', median(startsMs), { unit: 'ms', goal: { below: 50 } });

  const rest = TASKS - STARTS;
  await register('rest', rest, 'exec sleep 100000');
  await reached('rest', rest, 'running');
  ctx.metric('burstStartMs', median(allocsOf('rest').map((alloc) => msBetween(alloc, 'Received', 'Started'))), {
    unit: 'ms',
  });
  await idle(1);
  const before = processes.cpuSeconds('agent');
  await idle(IDLE_SECONDS);
  const used = (processes.cpuSeconds('agent') - before) / IDLE_SECONDS;
  ctx.metric('idleCores', used, { unit: 'cores', goal: { below: 0.02 } });
  ctx.metric('rssMb', processes.residentBytes('agent') / 1024 ** 2, { unit: 'MB', goal: { below: 150 } });

  ctx.log(`a task writes ${OUTPUT_MB} MB`);
  await register('flood', 1, `yes ${LINE} | head -c ${OUTPUT_MB}000000; echo ${LAST_LINE}`);
  await reached('flood', 1, 'complete');
  const [flood] = allocsOf('flood');
  if (!tailOf(path.join(dir, 'allocs', flood.ID, 'alloc', 'logs')).endsWith(`\n${LAST_LINE}\n`))
    throw new Error('the last line of the task is not in its log');
  const seconds = msBetween(flood, 'Started', 'Terminated') / 1_000;
  ctx.metric('logMbPerSecond', OUTPUT_MB / seconds, { unit: 'MB/s', goal: { atLeast: 100 } });
  ctx.note(
    `${TASKS} sleeping tasks; memory and processor of the agent itself with its log collector, without supervisors`,
  );
  ctx.note('taskStartMs: from the allocation seen to the process running, one at a time; burstStartMs: 180 at once');
}

/** @param {number} seconds */
const idle = (seconds) => new Promise((resolve) => setTimeout(resolve, seconds * 1_000));

/** @param {import('@waybill/model').Allocation | undefined} alloc @param {string} from @param {string} to */
function msBetween(alloc, from, to) {
  const at = (type) => alloc?.TaskStates.web?.Events.find(({ Type }) => Type === type)?.Time ?? Number.NaN;
  return (at(to) - at(from)) / 1e6;
}

/** The end of the newest file. @param {string} logsDir */
function tailOf(logsDir) {
  const newest = readdirSync(logsDir)
    .filter((name) => name.startsWith('web.stdout.'))
    .toSorted((a, b) => Number(a.split('.')[2]) - Number(b.split('.')[2]))
    .at(-1);
  return readFileSync(path.join(logsDir, newest ?? ''), 'utf8').slice(-200);
}

/** @param {string} ID @param {number} Count @param {string} line */
function registrationOf(ID, Count, line) {
  const group = fixtures.aGroup({}, 'batch');
  const task = fixtures.aTask({ Name: 'web', Driver: 'raw_exec', Config: { command: '/bin/sh', args: ['-c', line] } });
  const Tasks = [{ ...task, Resources: { ...task.Resources, CPU: 1, MemoryMB: 1 } }];
  const wanted = { ...group, Count, Tasks, EphemeralDisk: { ...group.EphemeralDisk, SizeMB: 1 } };
  const job = fixtures.aJob({ ID, Type: 'batch', TaskGroups: [wanted] });
  return fixtures.aRegistration(job, { Eval: fixtures.anEval({ ID: randomUUID(), JobID: ID, Type: 'batch' }) });
}
