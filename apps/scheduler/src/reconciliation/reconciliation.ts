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

/** One allocation to be made. */
export interface Placement {
  readonly name: string;
  readonly group: TaskGroup;
  readonly previous: Allocation | undefined;
  /**
   * The previous one failed or is out of reach: its tracker goes on. `stops-previous`: it is stopped only if this succeeds
   * (SC-151, SC-152); `keeps-previous`: it may come back, or is stopped for another reason (SC-172).
   */
  readonly reschedule: 'no' | 'stops-previous' | 'keeps-previous';
  /** Of the new version, beside the old one (SC-148). */
  readonly canary: boolean;
  /** Of the version from before a rollout that is held back: no canary, while canaries wait or a region's turn has not come (SC-150). */
  readonly olderVersion: boolean;
}

/** Stop and place as one: the stop is withdrawn if nothing fits (SC-145). */
export interface DestructiveUpdate {
  readonly alloc: Allocation;
  readonly group: TaskGroup;
  /** What the new one is called (SC-149). */
  readonly name: string;
}

/** What a job needs. Stops and rewrites are definite; placements depend on a node being found. */
export interface Reconciliation {
  readonly stops: StopOrder[];
  readonly placements: Placement[];
  readonly destructive: DestructiveUpdate[];
  /** New form of allocations that stay where they are, by id: each at most once, whatever changes of it. */
  readonly rewrites: ReadonlyMap<string, Allocation>;
  /** Which of the rewrites move to the job's version (SC-253). */
  readonly inPlace: ReadonlySet<string>;
  readonly followups: readonly Evaluation[];
  /** Created by this attempt, or the current one with a group added to it; null: nothing of it changes. */
  readonly deployment: Deployment | null;
  readonly deploymentUpdates: readonly DeploymentStatusUpdate[];
  /** What new and updated allocations belong to (SC-146, SC-243); empty: to none. */
  readonly deploymentId: string;
  readonly desired: Record<string, DesiredUpdates>;
}

/** How an allocation becomes what the job says now; needs to look at its node (SC-252). */
export type UpdateDecision =
  | { readonly kind: 'ignore' }
  | { readonly kind: 'in-place'; readonly alloc: Allocation }
  | { readonly kind: 'destructive' };

export interface ReconcileInput {
  /** Null: purged. */
  readonly job: Job | null;
  readonly jobId: string;
  /** All that are stored. */
  readonly allocs: readonly Allocation[];
  readonly tainted: TaintedNodes;
  /** Whether a plan may write down what came back on this node (SC-313): not before it is ready (ND-58, ND-70). */
  readonly hasSettled: (nodeId: string) => boolean;
  /** Whether an evaluation is stored and has not ended. */
  readonly isComing: (evalId: string) => boolean;
  /** The newest of the job, by index; null: none. */
  readonly deployment: Deployment | null;
  readonly evaluation: Evaluation;
  readonly nowNs: number;
  readonly newId: () => string;
  /** The version that runs a group while the rollout of the job's version is held back (SC-150); undefined: none ran before. */
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
