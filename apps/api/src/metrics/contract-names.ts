import { METRICS_PREFIX } from '@waybill/telemetry';

/**
 * The metrics that services keep, by the names that dashboards use (OP-104), without the prefix. A registry accepts no
 * dots: there the name is `waybill_nomad_` and the name with underscores. Times are kept in seconds and shown in
 * milliseconds.
 */
const KEPT_BY_SERVICES = [
  'broker.total_ready',
  'broker.total_unacked',
  'broker.total_pending',
  'broker.total_waiting',
  'broker.total_cancelable',
  'broker.eval_waiting',
  'broker.wait_time',
  'broker.process_time',
  'broker.response_time',
  'blocked_evals.total_blocked',
  'blocked_evals.total_escaped',
  'blocked_evals.total_quota_limit',
  'blocked_evals.cpu',
  'blocked_evals.memory',
  'blocked_evals.job.cpu',
  'blocked_evals.job.memory',
  'plan.queue_depth',
  'plan.evaluate',
  'plan.submit',
  'plan.apply',
  'plan.wait_for_index',
  'plan.node_rejected',
  'plan.rejection_tracker.node_score',
  'worker.dequeue_eval',
  'worker.submit_plan',
  'worker.wait_for_index',
  'worker.send_ack',
  'worker.create_eval',
  'worker.update_eval',
  'worker.reblock_eval',
  'heartbeat.active',
  'rpc.request',
  'rpc.request_error',
  'rpc.query',
  'agent.http.connections',
  'agent.http.exceeded',
  'audit.dropped',
] as const;

/** Waybill's own metrics (OP-107), which are kept in the same way. */
const OWN = ['events.lag', 'events.subscribers', 'lease.held', 'log.apply_errors', 'log.redelivered'] as const;

/** Metrics whose name contains the value of a label (`broker.service.ready`). */
const WITH_TYPE: Readonly<Record<string, (type: string) => string>> = {
  'broker.ready': (type) => `broker.${type}.ready`,
  'broker.unacked': (type) => `broker.${type}.unacked`,
  'rpc.cross_region': (region) => `rpc.cross-region.${region}`,
  fsm: (type) => `fsm.${type}`,
  'worker.invoke_scheduler': (type) => `worker.invoke_scheduler.${type}`,
};

/** The prefixes of request timers. The request's name in snake case follows. */
const REQUEST_FAMILIES = ['job', 'eval', 'deployment', 'alloc', 'client', 'volume', 'acl'] as const;

const registryName = (name: string): string => `waybill_nomad_${name.replaceAll('.', '_')}`;

const OWN_NAMES = new Map(OWN.map((name) => [registryName(`waybill.${name}`), name]));
const CONTRACT_NAMES = new Map([...KEPT_BY_SERVICES, ...Object.keys(WITH_TYPE)].map((n) => [registryName(n), n]));

export interface NamedSeries {
  /** The dotted name with its prefix. */
  readonly name: string;
  readonly labels: Readonly<Record<string, string>>;
}

/** Returns the name of a registry's metric for clients. The result is undefined if the contract has no name for it. */
export function contractName(registered: string, labels: NamedSeries['labels']): NamedSeries | undefined {
  const own = OWN_NAMES.get(registered);
  if (own !== undefined) return { name: `${METRICS_PREFIX}waybill.${own}`, labels };
  const name = CONTRACT_NAMES.get(registered) ?? requestTimer(registered);
  if (name === undefined) return undefined;
  const typed = WITH_TYPE[name];
  if (!typed) return { name: `${METRICS_PREFIX}nomad.${name}`, labels };
  const { type = 'unknown', ...rest } = labels;
  return { name: `${METRICS_PREFIX}nomad.${typed(type)}`, labels: rest };
}

function requestTimer(registered: string): string | undefined {
  const family = REQUEST_FAMILIES.find((one) => registered.startsWith(registryName(`${one}.`)));
  return family && `${family}.${registered.slice(registryName(`${family}.`).length)}`;
}
