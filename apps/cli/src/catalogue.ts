import type { CommandSpec, ServerCommand } from './command-spec.js';
import { ALIASES, SHORT_FORMS } from './command-words.js';

/** A command as the general help and the dispatcher know it; its module is loaded only when it is called. */
export interface CatalogueEntry {
  /** `job run`. */
  readonly words: string;
  readonly synopsis: string;
  readonly load: () => Promise<{ readonly command: CommandSpec }>;
}

/** CL-936: commands that are refused, and the path whose answer says so. */
const ENTERPRISE: Readonly<Record<string, string>> = {
  'license get': '/v1/operator/license',
  'quota apply': '/v1/quota',
  'quota list': '/v1/quotas',
  'quota status': '/v1/quota-usages',
  'recommendation apply': '/v1/recommendations/apply',
  'recommendation list': '/v1/recommendations',
  'sentinel apply': '/v1/sentinel/policies',
  'sentinel list': '/v1/sentinel/policies',
};

const enterpriseEntry = ([words, path]: readonly [string, string]): CatalogueEntry => ({
  words,
  synopsis: 'Only in the commercial edition of Nomad',
  load: async () => ({ command: (await import('./commands/enterprise.js')).enterpriseCommand(path) }),
});

export const CATALOGUE: readonly CatalogueEntry[] = [
  {
    words: 'agent',
    synopsis: 'Start all of Waybill, a node agent, or the servers',
    load: () => import('./commands/agent.js'),
  },
  {
    words: 'agent-info',
    synopsis: 'Show figures of the server at the address',
    load: () => import('./commands/agent-info.js'),
  },
  {
    words: 'alloc checks',
    synopsis: 'Show the checks of an allocation',
    load: () => import('./commands/alloc-checks.js'),
  },
  { words: 'alloc exec', synopsis: 'Run a command beside a task', load: () => import('./commands/alloc-exec.js') },
  { words: 'alloc fs', synopsis: 'Show the files of an allocation', load: () => import('./commands/alloc-fs.js') },
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
    words: 'completion',
    synopsis: 'Print what makes a shell complete commands',
    load: () => import('./commands/completion.js'),
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
    words: 'deployment unblock',
    synopsis: 'Let a deployment end without the other regions',
    load: () => import('./commands/deployment-unblock.js'),
  },
  {
    words: 'eval delete',
    synopsis: 'Delete evaluations while the broker is paused',
    load: () => import('./commands/eval-delete.js'),
  },
  { words: 'eval list', synopsis: 'Show evaluations', load: () => import('./commands/eval-list.js') },
  { words: 'eval status', synopsis: 'Show an evaluation', load: () => import('./commands/eval-status.js') },
  { words: 'event tail', synopsis: 'Follow the event stream', load: () => import('./commands/event-tail.js') },
  { words: 'job allocs', synopsis: 'Show the allocations of a job', load: () => import('./commands/job-allocs.js') },
  {
    words: 'job deployments',
    synopsis: 'Show the deployments of a job',
    load: () => import('./commands/job-deployments.js'),
  },
  {
    words: 'job dispatch',
    synopsis: 'Make one job of a parameterized one',
    load: () => import('./commands/job-dispatch.js'),
  },
  { words: 'job eval', synopsis: 'Have a job looked at again', load: () => import('./commands/job-eval.js') },
  { words: 'job history', synopsis: 'Show the versions of a job', load: () => import('./commands/job-history.js') },
  { words: 'job init', synopsis: 'Write an example job file', load: () => import('./commands/job-init.js') },
  {
    words: 'job inspect',
    synopsis: 'Print a job as the server has it',
    load: () => import('./commands/job-inspect.js'),
  },
  {
    words: 'job periodic force',
    synopsis: 'Launch a periodic job now',
    load: () => import('./commands/job-periodic-force.js'),
  },
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
    words: 'job restart',
    synopsis: 'Restart or replace the allocations of a job',
    load: () => import('./commands/job-restart.js'),
  },
  {
    words: 'job revert',
    synopsis: 'Go back to a former version of a job',
    load: () => import('./commands/job-revert.js'),
  },
  { words: 'job run', synopsis: 'Run a new job or update one', load: () => import('./commands/job-run.js') },
  { words: 'job scale', synopsis: 'Give a group another count', load: () => import('./commands/job-scale.js') },
  {
    words: 'job scaling-events',
    synopsis: 'Show who wanted which count',
    load: () => import('./commands/job-scaling-events.js'),
  },
  { words: 'job start', synopsis: 'Start a stopped job again', load: () => import('./commands/job-start.js') },
  { words: 'job status', synopsis: 'Show jobs', load: () => import('./commands/job-status.js') },
  { words: 'job stop', synopsis: 'Stop running jobs', load: () => import('./commands/job-stop.js') },
  {
    words: 'job tag apply',
    synopsis: 'Give a version of a job a name',
    load: () => import('./commands/job-tag-apply.js'),
  },
  {
    words: 'job tag unset',
    synopsis: 'Take the name of a version away',
    load: () => import('./commands/job-tag-unset.js'),
  },
  {
    words: 'job validate',
    synopsis: 'Say what is wrong with a job file',
    load: () => import('./commands/job-validate.js'),
  },
  { words: 'monitor', synopsis: 'Follow the log of a server', load: () => import('./commands/monitor.js') },
  {
    words: 'namespace apply',
    synopsis: 'Create or change a namespace',
    load: () => import('./commands/namespace-apply.js'),
  },
  { words: 'namespace delete', synopsis: 'Delete a namespace', load: () => import('./commands/namespace-delete.js') },
  {
    words: 'namespace inspect',
    synopsis: 'Print a namespace as the server has it',
    load: () => import('./commands/namespace-inspect.js'),
  },
  { words: 'namespace list', synopsis: 'Show the namespaces', load: () => import('./commands/namespace-list.js') },
  {
    words: 'namespace status',
    synopsis: 'Show a namespace',
    load: () => import('./commands/namespace-status.js'),
  },
  {
    words: 'node config',
    synopsis: 'Show or set the servers of an agent',
    load: () => import('./commands/node-config.js'),
  },
  { words: 'node drain', synopsis: 'Move the work off a node', load: () => import('./commands/node-drain.js') },
  {
    words: 'node eligibility',
    synopsis: 'Say whether a node takes new work',
    load: () => import('./commands/node-eligibility.js'),
  },
  {
    words: 'node pool apply',
    synopsis: 'Create or change a node pool',
    load: () => import('./commands/node-pool-apply.js'),
  },
  { words: 'node pool delete', synopsis: 'Delete a node pool', load: () => import('./commands/node-pool-delete.js') },
  { words: 'node pool info', synopsis: 'Show a node pool', load: () => import('./commands/node-pool-info.js') },
  {
    words: 'node pool init',
    synopsis: 'Write an example node pool',
    load: () => import('./commands/node-pool-init.js'),
  },
  { words: 'node pool jobs', synopsis: 'Show the jobs of a pool', load: () => import('./commands/node-pool-jobs.js') },
  { words: 'node pool list', synopsis: 'Show node pools', load: () => import('./commands/node-pool-list.js') },
  {
    words: 'node pool nodes',
    synopsis: 'Show the nodes of a pool',
    load: () => import('./commands/node-pool-nodes.js'),
  },
  { words: 'log', synopsis: 'Show the history of an object or of everything', load: () => import('./commands/log.js') },
  { words: 'node status', synopsis: 'Show nodes', load: () => import('./commands/node-status.js') },
  {
    words: 'operator api',
    synopsis: 'Make any request of the API',
    load: () => import('./commands/operator-api.js'),
  },
  {
    words: 'operator metrics',
    synopsis: 'Print the figures of the servers',
    load: () => import('./commands/operator-metrics.js'),
  },
  {
    words: 'operator raft list-peers',
    synopsis: 'Show the servers as peers',
    load: () => import('./commands/operator-raft-list-peers.js'),
  },
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
  {
    words: 'operator snapshot inspect',
    synopsis: 'Show of what a saved state is',
    load: () => import('./commands/operator-snapshot-inspect.js'),
  },
  {
    words: 'operator snapshot restore',
    synopsis: 'Take the cluster back to a saved state',
    load: () => import('./commands/operator-snapshot-restore.js'),
  },
  {
    words: 'operator snapshot save',
    synopsis: 'Save the state of the cluster to a file',
    load: () => import('./commands/operator-snapshot-save.js'),
  },
  { words: 'plugin status', synopsis: 'Show the storage plugins', load: () => import('./commands/plugin-status.js') },
  {
    words: 'scaling policy info',
    synopsis: 'Show a scaling policy',
    load: () => import('./commands/scaling-policy-info.js'),
  },
  {
    words: 'scaling policy list',
    synopsis: 'Show scaling policies',
    load: () => import('./commands/scaling-policy-list.js'),
  },
  {
    words: 'server members',
    synopsis: 'Show the servers and which of them leads',
    load: () => import('./commands/server-members.js'),
  },
  { words: 'service delete', synopsis: 'Delete a registration', load: () => import('./commands/service-delete.js') },
  { words: 'service info', synopsis: 'Show where a service is', load: () => import('./commands/service-info.js') },
  { words: 'service list', synopsis: 'Show services', load: () => import('./commands/service-list.js') },
  { words: 'status', synopsis: 'Show anything by its ID', load: () => import('./commands/status.js') },
  { words: 'system gc', synopsis: 'Remove everything that is over', load: () => import('./commands/system-gc.js') },
  {
    words: 'system reconcile summaries',
    synopsis: 'Count the summaries of all jobs anew',
    load: () => import('./commands/system-reconcile-summaries.js'),
  },
  { words: 'trace', synopsis: 'Show where an evaluation spent its time', load: () => import('./commands/trace.js') },
  { words: 'ui', synopsis: 'Open the web UI', load: () => import('./commands/ui.js') },
  { words: 'version', synopsis: 'Show the version of this program', load: () => import('./commands/version.js') },
  {
    words: 'volume create',
    synopsis: 'Have a disk made and register it',
    load: () => import('./commands/volume-create.js'),
  },
  {
    words: 'volume delete',
    synopsis: 'Have the disk of a volume deleted',
    load: () => import('./commands/volume-delete.js'),
  },
  {
    words: 'volume deregister',
    synopsis: 'Forget a volume; its disk stays',
    load: () => import('./commands/volume-deregister.js'),
  },
  {
    words: 'volume detach',
    synopsis: 'Free what ended allocations of a node hold',
    load: () => import('./commands/volume-detach.js'),
  },
  { words: 'volume init', synopsis: 'Write an example of a volume', load: () => import('./commands/volume-init.js') },
  {
    words: 'volume register',
    synopsis: 'Register a disk that exists as a volume',
    load: () => import('./commands/volume-register.js'),
  },
  {
    words: 'volume snapshot create',
    synopsis: 'Take a snapshot of a volume',
    load: () => import('./commands/volume-snapshot-create.js'),
  },
  {
    words: 'volume snapshot delete',
    synopsis: 'Have a snapshot deleted',
    load: () => import('./commands/volume-snapshot-delete.js'),
  },
  {
    words: 'volume snapshot list',
    synopsis: 'Show the snapshots of a provider',
    load: () => import('./commands/volume-snapshot-list.js'),
  },
  {
    words: 'volume status',
    synopsis: 'Show volumes and who uses them',
    load: () => import('./commands/volume-status.js'),
  },
  ...Object.entries(ENTERPRISE).map(enterpriseEntry),
];

const entryOf = (words: string): CatalogueEntry | undefined => CATALOGUE.find((entry) => entry.words === words);

/** Whether there is such a command, by its canonical words. */
export const isCommand = (words: string): boolean => entryOf(words) !== undefined;

/** The module of a command; undefined: there is no such command. */
export async function loadCommand(words: string): Promise<CommandSpec | undefined> {
  return (await entryOf(words)?.load())?.command;
}

/** The same for a command that talks to a server. */
export async function loadServerCommand(words: string): Promise<ServerCommand | undefined> {
  const spec = await loadCommand(words);
  return spec?.offline === true ? undefined : spec;
}

/** Every word that a command line can begin with, short forms and all that is not hidden. */
export const firstWords = (): string[] => [
  ...new Set([
    ...CATALOGUE.map(({ words }) => words.split(' ', 1)[0] ?? ''),
    ...[...ALIASES].filter(([word, { hidden }]) => hidden !== true || SHORT_FORMS.has(word)).map(([word]) => word),
  ]),
];

/** Words that may follow others of a command: `status` after `job`, `apply` after `job tag`. */
export const subcommandsOf = (words: string): string[] => [
  ...new Set(
    CATALOGUE.filter((entry) => entry.words.startsWith(`${words} `)).map(
      (entry) => entry.words.slice(words.length + 1).split(' ', 1)[0] ?? '',
    ),
  ),
];
