import type {
  Allocation,
  Deployment,
  DeploymentStatusUpdate,
  DesiredUpdates,
  Evaluation,
  Job,
  TaskGroup,
} from '@waybill/model';
import type { TaintedNodes } from './classification.js';
import type { StopOrder } from '../plan-draft.js';

/** An allocation to place. */
export interface Placement {
  readonly name: string;
  readonly group: TaskGroup;
  readonly previous: Allocation | undefined;
  /**
   * Whether the previous allocation failed or is disconnected, so that its tracker continues. `stops-previous`: it is
   * stopped only if the placement succeeds (SC-151, SC-152); `keeps-previous`: it may reconnect, or is stopped for
   * another reason (SC-172).
   */
  readonly reschedule: 'no' | 'stops-previous' | 'keeps-previous';
  /** Whether it is of the new version and runs beside the old one (SC-148). */
  readonly canary: boolean;
  /**
   * Whether it is of the version before a rollout that is held back, while canaries wait or a region's turn has not
   * come (SC-150).
   */
  readonly olderVersion: boolean;
}

/** A stop and a placement in one: the stop is withdrawn if no node fits (SC-145). */
export interface DestructiveUpdate {
  readonly alloc: Allocation;
  readonly group: TaskGroup;
  /** Name of the new allocation (SC-149). */
  readonly name: string;
}

/** The changes that a job needs. Stops and rewrites are definite; placements need a node. */
export interface Reconciliation {
  readonly stops: StopOrder[];
  readonly placements: Placement[];
  readonly destructive: DestructiveUpdate[];
  /** New forms of allocations that stay on their node, by ID: one for each, which contains all changes. */
  readonly rewrites: ReadonlyMap<string, Allocation>;
  /** IDs of the rewrites that move to the job's current version (SC-253). */
  readonly inPlace: ReadonlySet<string>;
  readonly followups: readonly Evaluation[];
  /** The deployment that this attempt creates, or the current one with an added group; null: it does not change. */
  readonly deployment: Deployment | null;
  readonly deploymentUpdates: readonly DeploymentStatusUpdate[];
  /** The deployment of new and updated allocations (SC-146, SC-243); empty: none. */
  readonly deploymentId: string;
  readonly desired: Record<string, DesiredUpdates>;
}

/** How an allocation is updated to the job's current version; it depends on its node (SC-252). */
export type UpdateDecision =
  | { readonly kind: 'ignore' }
  | { readonly kind: 'in-place'; readonly alloc: Allocation }
  | { readonly kind: 'destructive' };

export interface ReconcileInput {
  /** Null: the job was purged. */
  readonly job: Job | null;
  readonly jobId: string;
  /** All stored allocations of the job. */
  readonly allocs: readonly Allocation[];
  readonly tainted: TaintedNodes;
  /** Whether a plan may record what came back on this node (SC-313): not before the node is ready (ND-58, ND-70). */
  readonly hasSettled: (nodeId: string) => boolean;
  /** Whether an evaluation is stored and has not ended. */
  readonly isComing: (evalId: string) => boolean;
  /** The newest deployment of the job, by index; null: there is none. */
  readonly deployment: Deployment | null;
  readonly evaluation: Evaluation;
  readonly nowNs: number;
  readonly newId: () => string;
  /**
   * The version that runs a group while the rollout of the job's version is held back (SC-150); undefined: none ran
   * before.
   */
  readonly versionBefore: (group: string) => Job | undefined;
  readonly decideUpdate: (alloc: Allocation, group: TaskGroup) => UpdateDecision;
}

export function noUpdates(): DesiredUpdates {
  return {
    Ignore: 0,
    Place: 0,
    Migrate: 0,
    Stop: 0,
    InPlaceUpdate: 0,
    DestructiveUpdate: 0,
    Canary: 0,
    Preemptions: 0,
    Disconnect: 0,
    Reconnect: 0,
    RescheduleNow: 0,
    RescheduleLater: 0,
  };
}
