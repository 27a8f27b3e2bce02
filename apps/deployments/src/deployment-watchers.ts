import type { Singleton, Term } from '@waybill/lease';
import { isActiveDeployment } from '@waybill/model';
import type { ReplicatedState } from '@waybill/replica';
import type { Applied } from '@waybill/state';

/**
 * The watchers of active deployments, one each, while this process holds the role `deployments`.
 *
 * Modes: standby → holder → standby. On `start` the set of active deployments is read from state; `applied` keeps it.
 * What a watcher decides (health, promotion, deadlines, auto-revert) is listed as open in docs/gaps.md: today this
 * keeps the set that the watchers will hang on, and nothing else.
 * Memory: one id per active deployment. Cost of `applied`: the deployments the transaction changed.
 */
export class DeploymentWatchers implements Singleton {
  readonly role = 'deployments';
  private readonly watched = new Set<string>();

  constructor(private readonly state: ReplicatedState) {}

  start(_term: Term): void {
    // All deployments once per term: there is nothing else to begin from.
    for (const deployment of this.state.tables.deployment.all())
      if (isActiveDeployment(deployment)) this.watched.add(deployment.ID);
  }

  applied(applied: Applied): void {
    for (const change of applied.changes) {
      if (change.table !== 'deployment') continue;
      if (change.after && isActiveDeployment(change.after)) this.watched.add(change.key);
      else this.watched.delete(change.key);
    }
  }

  stop(): void {
    this.watched.clear();
  }

  stats(): Record<string, number> {
    return { watched: this.watched.size };
  }
}
