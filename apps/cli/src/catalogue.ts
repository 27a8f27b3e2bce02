import type { CommandSpec } from './command-spec.js';

/** A command as the general help and the dispatcher know it; its module is loaded only when it is called. */
export interface CatalogueEntry {
  /** `job run`. */
  readonly words: string;
  readonly synopsis: string;
  readonly load: () => Promise<{ readonly command: CommandSpec }>;
}

export const CATALOGUE: readonly CatalogueEntry[] = [
  {
    words: 'alloc logs',
    synopsis: "Show the output of an allocation's task",
    load: () => import('./commands/alloc-logs.js'),
  },
  { words: 'alloc restart', synopsis: 'Restart tasks in place', load: () => import('./commands/alloc-restart.js') },
  { words: 'alloc signal', synopsis: 'Send a signal to tasks', load: () => import('./commands/alloc-signal.js') },
  {
    words: 'alloc status',
    synopsis: 'Show allocations and what became of their tasks',
    load: () => import('./commands/alloc-status.js'),
  },
  {
    words: 'alloc stop',
    synopsis: 'Stop an allocation and have it replaced',
    load: () => import('./commands/alloc-stop.js'),
  },
  {
    words: 'deployment fail',
    synopsis: 'End a deployment as failed',
    load: () => import('./commands/deployment-fail.js'),
  },
  { words: 'deployment list', synopsis: 'Show deployments', load: () => import('./commands/deployment-list.js') },
  { words: 'deployment pause', synopsis: 'Pause a deployment', load: () => import('./commands/deployment-pause.js') },
  {
    words: 'deployment promote',
    synopsis: 'Accept the canaries of a deployment',
    load: () => import('./commands/deployment-promote.js'),
  },
  {
    words: 'deployment resume',
    synopsis: 'Let a paused deployment go on',
    load: () => import('./commands/deployment-resume.js'),
  },
  { words: 'deployment status', synopsis: 'Show a deployment', load: () => import('./commands/deployment-status.js') },
  {
    words: 'eval delete',
    synopsis: 'Delete evaluations while the broker is paused',
    load: () => import('./commands/eval-delete.js'),
  },
  { words: 'eval list', synopsis: 'Show evaluations', load: () => import('./commands/eval-list.js') },
  { words: 'eval status', synopsis: 'Show an evaluation', load: () => import('./commands/eval-status.js') },
  { words: 'event tail', synopsis: 'Follow the event stream', load: () => import('./commands/event-tail.js') },
  { words: 'job eval', synopsis: 'Have a job looked at again', load: () => import('./commands/job-eval.js') },
  { words: 'job history', synopsis: 'Show the versions of a job', load: () => import('./commands/job-history.js') },
  {
    words: 'job plan',
    synopsis: 'Show what running a job file would change',
    load: () => import('./commands/job-plan.js'),
  },
  {
    words: 'job promote',
    synopsis: "Accept the canaries of a job's latest deployment",
    load: () => import('./commands/job-promote.js'),
  },
  {
    words: 'job revert',
    synopsis: 'Go back to a former version of a job',
    load: () => import('./commands/job-revert.js'),
  },
  { words: 'job run', synopsis: 'Run a new job or update one', load: () => import('./commands/job-run.js') },
  { words: 'job status', synopsis: 'Show jobs', load: () => import('./commands/job-status.js') },
  { words: 'job stop', synopsis: 'Stop running jobs', load: () => import('./commands/job-stop.js') },
  { words: 'node status', synopsis: 'Show nodes', load: () => import('./commands/node-status.js') },
  {
    words: 'operator scheduler get-config',
    synopsis: 'Show the scheduler configuration',
    load: () => import('./commands/operator-scheduler-get-config.js'),
  },
  {
    words: 'operator scheduler set-config',
    synopsis: 'Change the scheduler configuration',
    load: () => import('./commands/operator-scheduler-set-config.js'),
  },
  { words: 'status', synopsis: 'Show jobs', load: () => import('./commands/job-status.js') },
  { words: 'version', synopsis: 'Show the version of this program', load: () => import('./commands/version.js') },
];

/** Other words for a command (CL-102). No help mentions `hidden` ones (CL-108). */
export const ALIASES: ReadonlyMap<string, { readonly words: string; readonly hidden?: boolean }> = new Map([
  ['run', { words: 'job run' }],
  ['plan', { words: 'job plan', hidden: true }],
  ['stop', { words: 'job stop' }],
  ['logs', { words: 'alloc logs' }],
  ['alloc-status', { words: 'alloc status', hidden: true }],
  ['eval-status', { words: 'eval status', hidden: true }],
  ['node-status', { words: 'node status', hidden: true }],
]);

/** What the general help calls common, in its order (CL-108). */
export const COMMON: readonly string[] = ['run', 'stop', 'status', 'alloc', 'job', 'node', 'agent'];

/** Words that begin several commands. */
export const GROUPS: ReadonlyMap<string, string> = new Map([
  ['alloc', 'Work with allocations'],
  ['deployment', 'Work with deployments'],
  ['eval', 'Work with evaluations'],
  ['event', 'Follow what happens'],
  ['job', 'Work with jobs'],
  ['node', 'Work with nodes'],
  ['operator', 'Run the control plane'],
]);
