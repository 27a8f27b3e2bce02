import { type Allocation, DEFAULT_NAMESPACE, findTaskGroup } from '@waybill/model';
import type { ReadModel } from '@waybill/projection';
import type { ExecStartRequest } from '@waybill/rpc';
import type { RequestAccess } from '../../access/request-access.js';
import { notFound } from '../../http/api-error.js';
import { parseJobPath } from '../../jobs/job-path.js';
import { knownAllocation } from '../known-allocation.js';
import { ExecMessageError } from './exec-messages.js';

/** ExecTarget is what a session runs: a command from the client, or one that the job's author prepared. */
export type ExecTarget =
  | { readonly kind: 'allocation'; readonly id: string }
  | { readonly kind: 'job'; readonly id: string };

/** ExecPlace is a session in the form of the request to its agent. */
export interface ExecPlace {
  readonly nodeId: string;
  readonly request: ExecStartRequest;
}

/** ExecWish is the session that a client requests, with the client's rights. */
export interface ExecWish {
  readonly query: URLSearchParams;
  readonly access: RequestAccess;
}

/** The drivers whose tasks see the machine's own files. A session in such a task is a session on the machine. */
const ON_THE_MACHINE: ReadonlySet<string> = new Set(['raw_exec', 'mock_driver']);

/** @throws Refusal forbidden if the task's driver does not isolate files and the caller lacks `alloc-node-exec` */
function checkTask(access: RequestAccess, alloc: Allocation, name: string): void {
  const group = alloc.Job ? findTaskGroup(alloc.Job, alloc.TaskGroup) : undefined;
  const task = group?.Tasks.find(({ Name }) => Name === name);
  if (task && !ON_THE_MACHINE.has(task.Driver)) return;
  access.must({ kind: 'namespace', anyOf: ['alloc-node-exec'] }, { namespace: alloc.Namespace });
}

const ALLOCATION = /^\/v1\/client\/allocation\/([^/]+)\/exec$/;
const JOB = '/v1/job/';

/** Returns the target of a path, or undefined if the path is not for a session. */
export function execTargetOf(pathname: string): ExecTarget | undefined {
  const path = decodePath(pathname);
  const allocation = ALLOCATION.exec(path)?.[1];
  if (allocation !== undefined) return { kind: 'allocation', id: allocation };
  const job = path.startsWith(JOB) ? parseJobPath(path.slice(JOB.length)) : undefined;
  return job?.sub === 'action' ? { kind: 'job', id: job.id } : undefined;
}

/** Finds the node and the command of a session (AG-320, AG-324). @throws ExecMessageError, ApiError */
export function execPlace(model: ReadModel, target: ExecTarget, wish: ExecWish): Promise<ExecPlace> {
  return target.kind === 'allocation' ? commandPlace(model, target.id, wish) : actionPlace(model, target.id, wish);
}

async function commandPlace(model: ReadModel, id: string, { query, access }: ExecWish): Promise<ExecPlace> {
  const request = { AllocID: id.toLowerCase(), Task: taskOf(query), Command: commandOf(query), Tty: ttyOf(query) };
  const alloc = await knownAllocation(model, request.AllocID, access);
  checkTask(access, alloc, request.Task);
  return { nodeId: alloc.NodeID, request };
}

/** Returns the action as the allocation's version of the job defines it. */
async function actionPlace(model: ReadModel, jobId: string, { query, access }: ExecWish): Promise<ExecPlace> {
  const [action, Task, Tty] = [query.get('action') ?? '', taskOf(query), ttyOf(query)];
  if (action === '') throw new ExecMessageError('must provide action name');
  access.inNamespace(namespaceIn(query));
  const allocId = query.get('allocID') || (await runningAllocation(model, jobId, query));
  const alloc = await knownAllocation(model, allocId, access);
  if (alloc.JobID !== jobId || alloc.Namespace !== namespaceIn(query))
    throw new ExecMessageError(`allocation "${alloc.ID}" is not one of job "${jobId}"`);
  checkTask(access, alloc, Task);
  const group = alloc.Job ? findTaskGroup(alloc.Job, alloc.TaskGroup) : undefined;
  const task = group?.Tasks.find(({ Name }) => Name === Task);
  if (!task) throw new ExecMessageError(`unknown task name "${Task}"`);
  const found = task.Actions?.find(({ Name }) => Name === action);
  if (!found) throw new ExecMessageError(`action ${action} not found in task ${Task}`);
  return {
    nodeId: alloc.NodeID,
    request: { AllocID: alloc.ID, Task, Command: [found.Command, ...(found.Args ?? [])], Tty },
  };
}

/**
 * Finds a running allocation if the request names none: of the named group if there is one, and of the newest version
 * that runs.
 */
async function runningAllocation(model: ReadModel, jobId: string, query: URLSearchParams): Promise<string> {
  const group = query.get('group') ?? '';
  const { rows } = await model.jobAllocations(namespaceIn(query), jobId, { all: true });
  const [newest] = rows
    .filter(({ ClientStatus, TaskGroup }) => ClientStatus === 'running' && (group === '' || TaskGroup === group))
    .toSorted((a, b) => (b.Job?.Version ?? 0) - (a.Job?.Version ?? 0));
  if (newest) return newest.ID;
  throw notFound(`job "${jobId}"${group === '' ? '' : `, group "${group}"`} has no running allocation`);
}

const namespaceIn = (query: URLSearchParams): string => query.get('namespace') || DEFAULT_NAMESPACE;

/** @throws ExecMessageError */
function taskOf(query: URLSearchParams): string {
  const task = query.get('task') ?? '';
  if (task === '') throw new ExecMessageError('must provide task name');
  return task;
}

function commandOf(query: URLSearchParams): string[] {
  const given = query.get('command') ?? '';
  if (given === '') throw new ExecMessageError('command is not present');
  let command: unknown;
  try {
    command = JSON.parse(given);
  } catch {
    throw new ExecMessageError('command is no JSON list of strings');
  }
  if (!Array.isArray(command) || command.some((word) => typeof word !== 'string'))
    throw new ExecMessageError('command is no JSON list of strings');
  if (command.length === 0) throw new ExecMessageError('command is not present');
  return command as string[];
}

function ttyOf(query: URLSearchParams): boolean {
  const given = query.get('tty') ?? '';
  if (given === '') return false;
  if (/^(1|t|true)$/i.test(given)) return true;
  if (/^(0|f|false)$/i.test(given)) return false;
  throw new ExecMessageError(`tty value is not a boolean: "${given}"`);
}

/** Decodes a path. A path with an invalid percent-encoding matches nothing. */
function decodePath(pathname: string): string {
  try {
    return decodeURIComponent(pathname);
  } catch {
    return '';
  }
}
