import type { Flag } from '../flags/flag.js';

/** Flags that describe the machine to the cluster. */
export const MACHINE_FLAGS: readonly Flag[] = [
  { name: 'dc', kind: 'text', value: 'name', help: 'Datacenter of this machine.' },
  { name: 'node', kind: 'text', value: 'name', help: 'Name of this machine.' },
  { name: 'node-class', kind: 'text', value: 'class', help: 'Class of this machine.' },
  { name: 'node-pool', kind: 'text', value: 'pool', help: 'Node pool of this machine.' },
  {
    name: 'client-intro-token',
    kind: 'text',
    value: 'token',
    help: 'Token of `node intro create`, for the first registration of this machine.',
  },
  { name: 'meta', kind: 'list', value: 'key=value', help: 'Metadata of the machine, for constraints of jobs.' },
];

export const AGENT_LOG_FLAGS: readonly Flag[] = [
  { name: 'log-level', kind: 'text', value: 'level', help: 'trace, debug, info, warn or error.' },
  { name: 'log-json', kind: 'switch', help: 'Log lines as JSON.' },
];
