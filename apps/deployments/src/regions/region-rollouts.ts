import type { Term } from '@waybill/roles';
import { isActiveDeployment, regionsOf, type Deployment, type Job } from '@waybill/model';
import { rolloutChanged, type RegionRollout as RolloutOfRegion, type Regions, type RolloutName } from '@waybill/rpc';
import { namespacedKey, versionKey, type Tables } from '@waybill/state';
import type { Watching } from '../watching/deployment-watcher.js';
import { DroppedRegions } from './dropped-regions.js';
import { PeerContacts, type Contact } from './peer-contacts.js';
import { isRegional, RegionCommands } from './region-commands.js';
import { RegionRollout, type RegionWatching } from './region-rollout.js';
import { rolledOutJob, UnknownJobError } from '../watching/rolled-out-job.js';

export interface RegionRolloutsDeps {
  readonly regions: Regions;
  readonly random: () => number;
  readonly watching: Watching;
  readonly term: Pick<Term, 'isCurrent'>;
}

/**
 * The active multiregion deployments of one term, one `RegionRollout` for each; deployments of one region are ignored
 * (DP-1138). A change of status is announced to the other regions of the job, so that they need not wait for their next
 * poll; if an announcement is lost, that poll finds the change (DP-1119).
 */
export class RegionRollouts {
  private readonly rollouts = new Map<string, RegionRollout>();
  private readonly shared: RegionWatching;
  private readonly dropped: DroppedRegions;

  constructor(deps: RegionRolloutsDeps) {
    const { regions, watching, term } = deps;
    const contacts = new PeerContacts(regions, term);
    this.shared = { ...deps, commands: new RegionCommands(() => watching), contacts };
    this.dropped = new DroppedRegions(this.shared);
  }

  /**
   * Starts the work that does not follow from active deployments: stopping jobs in regions that they have left.
   * O(jobs).
   */
  beginTerm(): void {
    this.dropped.checkAllJobs();
  }

  newVersion(job: Job): void {
    this.dropped.checkVersion(job);
  }

  /** Starts the rollout of a deployment that is active when the term begins. */
  beginRollout(deployment: Deployment): void {
    if (isRegional(deployment)) this.rolloutOf(deployment.ID).requestPoll();
  }

  deploymentChanged(id: string, before: Deployment | null | undefined, after: Deployment | null | undefined): void {
    if (!isRegional(after)) return this.dropRollout(id);
    if (isActiveDeployment(after)) this.rolloutOf(id).requestPoll();
    else this.dropRollout(id);
    if (isRegional(before) && before.Status !== after.Status) this.announceChange(after);
  }

  /** Polls, because another region announced a change. */
  pollRollout(name: RolloutName): void {
    const deployment = deploymentOf(this.shared.watching.tables, name);
    if (deployment) this.rollouts.get(deployment.ID)?.requestPoll();
  }

  contactOf(region: string): Contact {
    return this.shared.contacts.of(region);
  }

  /** Multiregion deployments that are active here. */
  get size(): number {
    return this.rollouts.size;
  }

  stop(): void {
    this.dropped.stop();
    for (const rollout of this.rollouts.values()) rollout.stop();
  }

  private announceChange(deployment: Deployment): void {
    const { regions, contacts, watching } = this.shared;
    const { Namespace, JobID, JobVersion } = deployment;
    try {
      for (const { Name } of regionsOf(rolledOutJob(watching.tables, deployment)))
        if (Name !== regions.own)
          // The other region polls as well.
          contacts.callPeer(Name, rolloutChanged, { Namespace, JobID, JobVersion }).catch(() => undefined);
    } catch (error) {
      if (!(error instanceof UnknownJobError)) throw error;
    }
  }

  private rolloutOf(id: string): RegionRollout {
    let rollout = this.rollouts.get(id);
    if (!rollout) this.rollouts.set(id, (rollout = new RegionRollout(id, this.shared)));
    return rollout;
  }

  private dropRollout(id: string): void {
    this.rollouts.get(id)?.stop();
    this.rollouts.delete(id);
  }
}

/**
 * Progress of this region's part, for the others (DP-1119, DP-1127): `none` if this region has the version of another
 * registration, which came first.
 */
export function progressHere(tables: Tables, name: RolloutName): RolloutOfRegion {
  const deployment = deploymentOf(tables, name);
  if (deployment) {
    if (isOfOther(deployment, name)) return { DeploymentID: '', Status: 'none', HasRun: false };
    const { ID: DeploymentID, Status, HasRun = false } = deployment;
    return { DeploymentID, Status, HasRun };
  }
  const version = tables.job_version.get(versionKey(name.Namespace, name.JobID, name.JobVersion));
  return { DeploymentID: '', Status: version?.Stable ? 'successful' : 'none', HasRun: false };
}

const isOfOther = ({ Registration: here }: Deployment, { Registration: asked }: RolloutName): boolean =>
  here !== undefined && asked !== undefined && here !== asked;

/** The newest deployment of the version: a job that was purged may have been registered again with the same version. */
function deploymentOf(tables: Tables, { Namespace, JobID, JobVersion }: RolloutName): Deployment | undefined {
  let newest: Deployment | undefined;
  for (const deployment of tables.deployment.by('job', namespacedKey(Namespace, JobID)))
    if (isRegional(deployment) && deployment.JobVersion === JobVersion)
      if (!newest || deployment.CreateIndex > newest.CreateIndex) newest = deployment;
  return newest;
}
