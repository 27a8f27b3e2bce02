import { MAX_REAPED_JOBS, MAX_REAPED_VOLUMES, type Reap, type Reaped } from '@waybill/rpc';

/** Sizes of one request; the broker accepts no larger ones (GC-92). */
export interface BatchLimits {
  readonly ids: number;
  readonly jobs: number;
  readonly volumes: number;
}

/**
 * IDs are fewer than a transaction could hold: Postgres deletes a thousand rows within some milliseconds, and a reader
 * may have to wait for that.
 */
export const BATCH_LIMITS: BatchLimits = {
  ids: 1_000,
  jobs: MAX_REAPED_JOBS,
  volumes: MAX_REAPED_VOLUMES,
};

/**
 * Gathers the findings of a scan and sends each full batch, one request after the other; the first failure ends the run
 * (GC-96). Allocations are deleted before their evaluations (GC-93), jobs after the last of theirs (GC-41). An empty
 * batch is not sent (GC-95).
 *
 * Memory: less than a batch of each kind, and the records of one call.
 */
export class ReapBatches {
  private readonly allocs: string[] = [];
  private readonly evals: string[] = [];
  private readonly jobs: Reaped[] = [];
  private readonly deployments: string[] = [];
  private readonly nodes: string[] = [];
  private readonly plugins: string[] = [];
  private readonly volumes: Reaped[] = [];

  constructor(
    private readonly send: (reap: Reap) => Promise<void>,
    private readonly limits: BatchLimits = BATCH_LIMITS,
  ) {}

  /** Adds evaluations, whose allocations are all collected here or before, and allocations. */
  async addEvaluations(evalIds: readonly string[], allocIds: readonly string[]): Promise<void> {
    for (const id of allocIds) this.allocs.push(id);
    for (const id of evalIds) this.evals.push(id);
    while (this.gatheredIds >= this.limits.ids) await this.sendEvaluations();
  }

  /**
   * Adds a job with all its records. They stay together (GC-38): no batch ends within a job that fits into one
   * (GC-135).
   */
  async addJob({ Namespace, ID }: Reaped, evalIds: readonly string[], allocIds: readonly string[]): Promise<void> {
    if (this.gatheredIds + evalIds.length + allocIds.length > this.limits.ids) await this.sendAllEvaluations();
    await this.addEvaluations(evalIds, allocIds);
    this.jobs.push({ Namespace, ID });
    if (this.jobs.length >= this.limits.jobs) await this.sendJobs();
  }

  async addDeployment(id: string): Promise<void> {
    this.deployments.push(id);
    if (this.deployments.length >= this.limits.ids) await this.sendDeployments();
  }

  async addNode(id: string): Promise<void> {
    this.nodes.push(id);
    if (this.nodes.length >= this.limits.ids) await this.sendNodes();
  }

  async addPlugin(id: string): Promise<void> {
    this.plugins.push(id);
    if (this.plugins.length >= this.limits.volumes) await this.sendPlugins();
  }

  /** Adds a volume that has stale claims. */
  async addVolume({ Namespace, ID }: Reaped): Promise<void> {
    this.volumes.push({ Namespace, ID });
    if (this.volumes.length >= this.limits.volumes) await this.sendVolumes();
  }

  /** Adds tokens that had expired at a time (RFC 3339), all of a run in one request (GC-77). */
  async addTokens(accessors: readonly string[], expiredBy: string): Promise<void> {
    if (accessors.length > 0) await this.send({ Kind: 'tokens', AccessorIDs: accessors, ExpiredBy: expiredBy });
  }

  /** Adds all one-time tokens that had expired at a time, unix ns. */
  async addOneTimeTokens(expiredByNs: number): Promise<void> {
    await this.send({ Kind: 'one-time-tokens', ExpiredByNs: expiredByNs });
  }

  /** Adds root keys, all of a run in one request. */
  async addRootKeys(keyIds: readonly string[]): Promise<void> {
    if (keyIds.length > 0) await this.send({ Kind: 'root-keys', KeyIDs: keyIds });
  }

  /** Sends the remaining batches. */
  async flush(): Promise<void> {
    await this.sendJobs();
    if (this.deployments.length > 0) await this.sendDeployments();
    if (this.plugins.length > 0) await this.sendPlugins();
    if (this.volumes.length > 0) await this.sendVolumes();
    if (this.nodes.length > 0) await this.sendNodes();
  }

  private get gatheredIds(): number {
    return this.allocs.length + this.evals.length;
  }

  private async sendAllEvaluations(): Promise<void> {
    while (this.gatheredIds > 0) await this.sendEvaluations();
  }

  private async sendEvaluations(): Promise<void> {
    const AllocIDs = this.allocs.splice(0, this.limits.ids);
    const EvalIDs = this.evals.splice(0, this.limits.ids - AllocIDs.length);
    await this.send({ Kind: 'evaluations', EvalIDs, AllocIDs });
  }

  private async sendJobs(): Promise<void> {
    await this.sendAllEvaluations();
    const Jobs = this.jobs.splice(0);
    if (Jobs.length > 0) await this.send({ Kind: 'jobs', Jobs });
  }

  private sendDeployments(): Promise<void> {
    return this.send({ Kind: 'deployments', DeploymentIDs: this.deployments.splice(0) });
  }

  private sendPlugins(): Promise<void> {
    return this.send({ Kind: 'plugins', PluginIDs: this.plugins.splice(0) });
  }

  private sendVolumes(): Promise<void> {
    return this.send({ Kind: 'volume-claims', Volumes: this.volumes.splice(0) });
  }

  private sendNodes(): Promise<void> {
    return this.send({ Kind: 'nodes', NodeIDs: this.nodes.splice(0) });
  }
}
