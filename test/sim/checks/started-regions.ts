import { type Deployment, regionsOf } from '@waybill/model';
import { progressHere, rolledOutJob } from '@waybill/deployments';
import type { Cluster } from '../cluster.js';
import type { Report } from './violation.js';

/** Of one rollout, at no time are more regions started and unfinished than its job allows (DP-1116, DP-1120). */
export class StartedRegions {
  constructor(
    private readonly clusters: readonly Cluster[],
    private readonly report: Report,
  ) {
    for (const cluster of clusters)
      cluster.reference.onApplied(({ changes }) => {
        for (const { table, after } of changes)
          if (table === 'deployment' && after?.IsMultiregion && after.Status === 'running') this.look(cluster, after);
      });
  }

  private look(cluster: Cluster, deployment: Deployment): void {
    const job = rolledOutJob(cluster.tables, deployment);
    const most = job.Multiregion?.Strategy?.MaxParallel ?? 0;
    const started = regionsOf(job).filter(({ Name }) => this.isStarted(Name, deployment));
    if (most > 0 && started.length > most)
      this.report(
        'started-regions',
        `job ${job.ID} version ${job.Version} runs in ${started.map(({ Name }) => Name).join(' and ')}, at most ${most} at once`,
      );
  }

  private isStarted(region: string, name: Deployment): boolean {
    const there = this.clusters.find(({ world }) => world.region === region);
    if (!there) return false;
    const { Status, HasRun } = progressHere(there.tables, name);
    return Status === 'running' || (Status === 'paused' && HasRun);
  }
}
