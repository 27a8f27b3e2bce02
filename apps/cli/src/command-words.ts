/** An alternative to the words of a command. */
interface Alias {
  readonly words: string;
  /** Whether the help omits it (CL-108). */
  readonly hidden?: boolean;
  /** Whether its use prints a warning. */
  readonly deprecated?: boolean;
}

/** Maps each alias and old name to its command. The general help omits hidden ones (CL-102). */
export const ALIASES: ReadonlyMap<string, Alias> = new Map<string, Alias>([
  ['run', { words: 'job run' }],
  ['action', { words: 'job action' }],
  ['start', { words: 'job start' }],
  ['plan', { words: 'job plan', hidden: true }],
  ['init', { words: 'job init', hidden: true }],
  ['inspect', { words: 'job inspect', hidden: true }],
  ['validate', { words: 'job validate', hidden: true }],
  ['stop', { words: 'job stop' }],
  ['exec', { words: 'alloc exec' }],
  ['fs', { words: 'alloc fs' }],
  ['logs', { words: 'alloc logs' }],
  ['debug', { words: 'operator debug', hidden: true }],
  ['alloc-status', { words: 'alloc status', hidden: true }],
  ['eval-status', { words: 'eval status', hidden: true }],
  ['node-drain', { words: 'node drain', hidden: true }],
  ['node-status', { words: 'node status', hidden: true }],
  ['client-config', { words: 'node config', hidden: true, deprecated: true }],
  ['server-force-leave', { words: 'server force-leave', hidden: true, deprecated: true }],
  ['server-join', { words: 'server join', hidden: true, deprecated: true }],
  ['server-members', { words: 'server members', hidden: true, deprecated: true }],
]);

/** Short forms that the general help omits although their use is intended (CL-108). */
export const SHORT_FORMS: ReadonlySet<string> = new Set(['exec', 'fs', 'init', 'inspect', 'logs', 'plan', 'validate']);

/** The common commands of the general help, in its order (CL-108). */
export const COMMON: readonly string[] = ['run', 'stop', 'status', 'alloc', 'job', 'node', 'agent'];

/** Words with which several commands start. */
export const GROUPS: ReadonlyMap<string, string> = new Map([
  ['acl', 'Work with tokens, policies, roles and auth methods'],
  ['alloc', 'Work with allocations'],
  ['config', 'Look at configuration files'],
  ['deployment', 'Work with deployments'],
  ['eval', 'Work with evaluations'],
  ['license', 'Not offered'],
  ['quota', 'Not offered'],
  ['recommendation', 'Not offered'],
  ['sentinel', 'Not offered'],
  ['event', 'Follow what happens'],
  ['job', 'Work with jobs'],
  ['node', 'Work with nodes'],
  ['operator', 'Run the control plane'],
  ['namespace', 'Work with namespaces'],
  ['scaling', 'Look at scaling policies'],
  ['plugin', 'Look at storage plugins'],
  ['server', 'Look at the servers'],
  ['service', 'Work with services'],
  ['system', 'Have the cluster tidied up'],
  ['tls', 'Make certificates and look at them'],
  ['var', 'Variables: not available yet'],
  ['volume', 'Work with volumes'],
]);
