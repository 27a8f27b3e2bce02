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
  {
    words: 'alloc status',
    synopsis: 'Show allocations and what became of their tasks',
    load: () => import('./commands/alloc-status.js'),
  },
  { words: 'eval status', synopsis: 'Show an evaluation', load: () => import('./commands/eval-status.js') },
  { words: 'event tail', synopsis: 'Follow the event stream', load: () => import('./commands/event-tail.js') },
  { words: 'job run', synopsis: 'Run a new job or update one', load: () => import('./commands/job-run.js') },
  { words: 'job status', synopsis: 'Show jobs', load: () => import('./commands/job-status.js') },
  { words: 'job stop', synopsis: 'Stop running jobs', load: () => import('./commands/job-stop.js') },
  { words: 'node status', synopsis: 'Show nodes', load: () => import('./commands/node-status.js') },
  { words: 'status', synopsis: 'Show jobs', load: () => import('./commands/job-status.js') },
  { words: 'version', synopsis: 'Show the version of this program', load: () => import('./commands/version.js') },
];

/** Other words for a command (CL-102). `hidden` ones are old names that no help mentions. */
export const ALIASES: ReadonlyMap<string, { readonly words: string; readonly hidden?: boolean }> = new Map([
  ['run', { words: 'job run' }],
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
  ['alloc', 'Look at allocations'],
  ['eval', 'Look at evaluations'],
  ['event', 'Follow what happens'],
  ['job', 'Work with jobs'],
  ['node', 'Work with nodes'],
]);
