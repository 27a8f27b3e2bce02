import type { Allocation, Evaluation } from '@waybill/model';
import type { FollowUps } from './follow-ups.js';
import type { StopOrder } from '../plan-draft.js';
import type { DestructiveUpdate, Placement, Reconciliation } from './reconciliation.js';
import type { Rollout } from './rollout.js';

/** The sum of the results of a job's groups, while they are reconciled one after the other. */
export class ReconciliationDraft implements Omit<Reconciliation, 'deployment' | 'deploymentUpdates' | 'deploymentId'> {
  readonly stops: StopOrder[] = [];
  readonly placements: Placement[] = [];
  readonly destructive: DestructiveUpdate[] = [];
  readonly rewrites = new Map<string, Allocation>();
  readonly inPlace = new Set<string>();
  readonly desired: Reconciliation['desired'] = {};
  private readonly stopped = new Set<string>();

  constructor(
    readonly followUps: FollowUps,
    readonly rollout: Rollout,
  ) {}

  get followups(): readonly Evaluation[] {
    return this.followUps.made;
  }

  isStopped({ ID }: Allocation): boolean {
    return this.stopped.has(ID);
  }

  /** Stops an allocation, once. Its other changes are dropped. */
  stop(order: StopOrder): void {
    const { ID } = order.alloc;
    if (this.stopped.has(ID)) return;
    this.stopped.add(ID);
    this.rewrites.delete(ID);
    this.stops.push(order);
  }
}
