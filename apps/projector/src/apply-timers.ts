import type { Clock } from '@waybill/model';
import type { Txn, TxnType } from '@waybill/state';
import type { Metrics } from '@waybill/telemetry';

/** The types whose application time dashboards show, with the names that dashboards use (OP-104, DP-1307). */
const TIMED: Partial<Readonly<Record<TxnType, string>>> = {
  NodeRegister: 'register_node',
  NodeDeregister: 'deregister_node',
  NodeBatchDeregister: 'deregister_node',
  NodeUpdateStatus: 'node_status_update',
  NodeUpdateDrain: 'node_drain_update',
  BatchNodeUpdateDrain: 'batch_node_drain_update',
  NodeUpdateEligibility: 'node_eligibility_update',
  UpsertNodeEvents: 'upsert_node_events',
  JobRegister: 'register_job',
  JobDeregister: 'deregister_job',
  JobBatchDeregister: 'batch_deregister_job',
  JobStability: 'apply_job_stability',
  EvalUpdate: 'update_eval',
  EvalDelete: 'delete_eval',
  AllocClientUpdate: 'alloc_client_update',
  AllocUpdateDesiredTransition: 'alloc_update_desired_transition',
  ApplyPlanResults: 'apply_plan_results',
  DeploymentStatusUpdate: 'apply_deployment_status_update',
  DeploymentPromote: 'apply_deployment_promotion',
  DeploymentAllocHealth: 'apply_deployment_alloc_health',
  DeploymentDelete: 'apply_deployment_delete',
  SchedulerConfig: 'apply_scheduler_config',
  CSIVolumeRegister: 'apply_csi_volume_register',
  CSIVolumeDeregister: 'apply_csi_volume_deregister',
  CSIVolumeClaim: 'apply_csi_volume_claim',
};

/**
 * The buckets in seconds. Most transactions take microseconds, a plan of a thousand allocations milliseconds, a restore
 * minutes.
 */
const BUCKETS_S = [0.00001, 0.00005, 0.0001, 0.0005, 0.001, 0.005, 0.01, 0.05, 0.1, 1, 10];

/** An ApplyMeter runs the application of one transaction and measures it. */
export type ApplyMeter = <T>(txn: Txn, apply: () => T) => T;

export const noApplyMeter: ApplyMeter = (_, apply) => apply();

/**
 * Measures how long transactions take to apply, as `fsm.<type>`. Every copy of the state applies the same transactions.
 * The projector shows its times because there is only one projector. Cost: two readings of the clock per transaction.
 * @param clock a monotonic clock
 */
export function applyTimers(metrics: Metrics, clock: Clock): ApplyMeter {
  const timer = metrics.histogram('nomad_fsm', 'fsm.<type>: applying a transaction', ['type'], BUCKETS_S);
  const timers = new Map(Object.entries(TIMED).map(([type, name]) => [type, timer.labels({ type: name })]));
  return (txn, apply) => {
    const of = timers.get(txn.type);
    if (!of) return apply();
    const beganMs = clock.nowMs();
    try {
      return apply();
    } finally {
      of.observe((clock.nowMs() - beganMs) / 1_000);
    }
  };
}
