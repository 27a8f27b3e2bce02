import { type Job, regionsOf } from '@waybill/model';
import { namespacedKey } from '@waybill/state';
import type { Cluster } from '../cluster.js';
import { InvariantError } from './violation.js';

/** Where the logs stood when a user asked for a job to be stopped in all its regions. */
export interface AskedStop {
  /** The user was told that it is not. */
  failed(): void;
  /** @throws InvariantError: the user was told that it is stopped, and it is not */
  expectStopped(): void;
}

/** A region that is to stop a job, and where its log stood when the user asked first. */
interface AskedRegion {
  readonly cluster: Cluster;
  readonly from: number;
}

/** Who was told that a job is stopped in all its regions finds it stopped in each, unless it was registered there since (DP-1139). */
export class GlobalStops {
  /** The regions of jobs that a stop which was not complete has removed here; who is told so asks again. */
  private readonly unfinished = new Map<string, readonly AskedRegion[]>();

  constructor(
    private readonly here: Cluster,
    private readonly clusters: readonly Cluster[],
  ) {}

  /** @param requestId of what is asked */
  begin(jobId: string, requestId: string): AskedStop {
    const key = namespacedKey('default', jobId);
    const job = this.here.tables.jobs.get(key);
    const now = job ? this.regionsOf(job).map((cluster) => ({ cluster, from: cluster.log.length })) : undefined;
    const regions = now ?? this.unfinished.get(jobId) ?? [];
    this.unfinished.delete(jobId);
    const before = this.here.log.length;
    return {
      failed: () => {
        if (this.purges(before, jobId).includes(requestId)) this.unfinished.set(jobId, regions);
      },
      expectStopped: () => {
        if (wasRegistered(this.here, before, jobId)) return; // it may have other regions by now
        if (this.purges(before, jobId).some((by) => by !== requestId)) return; // it was not there any more
        for (const { cluster, from } of regions) {
          const there = cluster.tables.jobs.get(key);
          if (there && !there.Stop && !wasRegistered(cluster, from, jobId))
            throw new InvariantError('stopped-everywhere', `job ${jobId} runs on in ${cluster.world.region}`);
        }
      },
    };
  }

  /**
   * The requests that have removed the job here since then. What others have purged meanwhile, or what is collected as dead,
   * nobody remembers the regions of (docs/gaps.md).
   */
  private purges(from: number, jobId: string): string[] {
    return this.here.log
      .slice(from)
      .filter(({ changes }) =>
        changes.some(({ table, before, after }) => table === 'jobs' && before?.ID === jobId && !after),
      )
      .map(({ txn }) => txn.requestId);
  }

  private regionsOf(job: Job): readonly Cluster[] {
    const names = new Set(regionsOf(job).map(({ Name }) => Name));
    return this.clusters.filter(({ world }) => names.has(world.region));
  }
}

const wasRegistered = ({ log }: Cluster, from: number, jobId: string): boolean =>
  log
    .slice(from)
    .some(({ changes }) =>
      changes.some(
        ({ table, before, after }) =>
          table === 'jobs' && after?.ID === jobId && !after.Stop && after.Version !== before?.Version,
      ),
    );
