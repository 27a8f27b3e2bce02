/** A page of the API that is captured, with the name of its file. */
export interface DebugPage {
  readonly name: string;
  readonly path: string;
  readonly query?: Readonly<Record<string, string>>;
  /** Whether the page is a list, which is read in pages. */
  readonly list?: true;
}

/** Pages that do not change, captured once (CL-807). */
export const CLUSTER_PAGES: readonly DebugPage[] = [
  { name: 'agent-self', path: '/v1/agent/self' },
  { name: 'leader', path: '/v1/status/leader' },
  { name: 'members', path: '/v1/agent/members' },
  { name: 'namespaces', path: '/v1/namespaces' },
  { name: 'nodes', path: '/v1/nodes', query: { os: 'true', resources: 'true' }, list: true },
  { name: 'regions', path: '/v1/regions' },
];

/** Pages that change, captured at each interval. */
export const INTERVAL_PAGES: readonly DebugPage[] = [
  { name: 'metrics', path: '/v1/metrics' },
  { name: 'jobs', path: '/v1/jobs', list: true },
  { name: 'evaluations', path: '/v1/evaluations', list: true },
  { name: 'allocations', path: '/v1/allocations', query: { task_states: 'true' }, list: true },
  { name: 'deployments', path: '/v1/deployments', list: true },
  { name: 'nodes', path: '/v1/nodes', list: true },
  { name: 'csi-volumes', path: '/v1/volumes', query: { type: 'csi' }, list: true },
  { name: 'host-volumes', path: '/v1/volumes', query: { type: 'host' }, list: true },
  { name: 'csi-plugins', path: '/v1/plugins', query: { type: 'csi' }, list: true },
  { name: 'services', path: '/v1/services' },
  { name: 'scheduler-configuration', path: '/v1/operator/scheduler/configuration' },
  { name: 'scheduler-workers', path: '/v1/agent/schedulers' },
  { name: 'roles', path: '/v1/operator/raft/configuration' },
  { name: 'health', path: '/v1/operator/autopilot/health' },
];
