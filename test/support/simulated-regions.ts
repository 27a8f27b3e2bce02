import { FakeTime, jobInRegion, type Deployment, type Multiregion, type TaskGroup } from '@waybill/model';
import {
  deregisterInRegion,
  jobInThatRegion,
  regionRollout,
  rolloutChanged,
  RpcContext,
  RpcUnavailableError,
  runInRegion,
  unblockInRegion,
  type Call,
  type RegionDeploymentRequest,
  type RegionJobRequest,
  type Regions,
  type RolloutName,
} from '@waybill/rpc';
import { fixtures } from '@waybill/state';
import { RolloutCluster, tasksOf, UPDATE } from './rollout-cluster.js';

const { aDeployment, aGroup, aJob, anEval, aRegistration } = fixtures;

/** Several complete regions on one clock, which reach each other unless they are cut off. */
export class SimulatedRegions {
  readonly time = new FakeTime();
  private readonly clusters = new Map<string, RolloutCluster>();
  private readonly cut = new Set<string>();
  private version = -1;
  /** Every set of regions that was `running` at once, as it came up. */
  readonly runningTogether: string[][] = [];
  /** Where jobs were stopped because another region asked for it. */
  readonly deregistrations: string[] = [];

  private constructor(private readonly names: readonly string[]) {}

  static async start(...names: string[]): Promise<SimulatedRegions> {
    const regions = new SimulatedRegions(names);
    for (const name of names) {
      const cluster = await RolloutCluster.start(1, regions.time, regions.seenFrom(name));
      regions.clusters.set(name, cluster);
      cluster.plane.state.onApplied(({ changes }) => {
        if (changes.some(({ table }) => table === 'deployment')) regions.noteRunning();
      });
    }
    return regions;
  }

  async stop(): Promise<void> {
    for (const cluster of this.clusters.values()) await cluster.stop();
  }

  at(name: string): RolloutCluster {
    const cluster = this.clusters.get(name);
    if (!cluster) throw new Error(`no region ${name}`);
    return cluster;
  }

  /** Nobody reaches it any more, and it reaches nobody. */
  cutOff(name: string): void {
    this.cut.add(name);
  }

  reconnect(name: string): void {
    this.cut.delete(name);
  }

  /** The next version everywhere, as the API of a region registers it (DP-1107). */
  async register(
    strategy: Partial<NonNullable<Multiregion['Strategy']>> = {},
    group: Partial<TaskGroup> = {},
    where = this.names,
    regions = this.names,
  ): Promise<void> {
    this.version++;
    for (const name of where) {
      const { plane } = this.at(name);
      const listed = regions.map((Name) => ({ Name, Count: 2, Datacenters: null, NodePool: '', Meta: null }));
      const job = aJob({
        Version: this.version,
        Multiregion: { Strategy: { MaxParallel: 1, OnFailure: '', ...strategy }, Regions: listed },
        TaskGroups: [
          aGroup({ Name: 'web', Count: 0, Update: UPDATE, Tasks: tasksOf(this.version), ...group }, 'service'),
        ],
      });
      const region = listed.find(({ Name }) => Name === name)!;
      const Deployment = aDeployment({
        ID: plane.newId(),
        Status: 'initializing',
        StatusDescription: 'Deployment is pending, waiting for peer region',
        IsMultiregion: true,
        TaskGroups: {},
      });
      const registration = { Eval: anEval({ ID: plane.newId() }), Deployment };
      await plane.write('JobRegister', aRegistration(jobInRegion(job, region), registration));
    }
  }

  /** Of the version registered last, in each region. */
  deployment(name: string): Deployment {
    const found = this.at(name)
      .deployments('web')
      .find((deployment) => deployment.IsMultiregion && deployment.JobVersion === this.version);
    if (!found) throw new Error(`region ${name} has no deployment of version ${this.version}`);
    return found;
  }

  get statuses(): Deployment['Status'][] {
    return this.names.map((name) => this.deployment(name).Status);
  }

  /** Lets time pass until the regions are in these statuses. */
  async until(...expected: Deployment['Status'][]): Promise<void> {
    const [any] = this.clusters.values();
    const isSo = (): boolean => this.statuses.every((status, i) => status === expected[i]);
    await any?.passUntil(expected.join(', '), isSo, 240_000).catch((error: unknown) => {
      throw new Error(`${this.statuses.join(', ')} instead of: ${String(error)}`);
    });
  }

  private noteRunning(): void {
    const running = this.names.filter((name) =>
      this.clusters
        .get(name)
        ?.deployments('web')
        .some((d) => d.IsMultiregion && d.Status === 'running'),
    );
    if (running.length > 0 && running.join() !== this.runningTogether.at(-1)?.join())
      this.runningTogether.push(running);
  }

  private seenFrom(own: string): Regions {
    return {
      own,
      names: this.names.toSorted(),
      askRegion: async <Req, Res>(region: string, call: Call<Req, Res>, request: Req): Promise<Res> => {
        if (this.cut.has(own) || this.cut.has(region)) throw new RpcUnavailableError(call.name, 'cut off');
        return (await this.answer(region, call.name, request)) as Res;
      },
    };
  }

  private answer(region: string, call: string, request: unknown): unknown {
    const holder = this.at(region).forRegions;
    const context = new RpcContext([undefined]);
    switch (call) {
      case regionRollout.name:
        return holder.rolloutProgress(request as RolloutName);
      case runInRegion.name:
        return holder.runDeployment(request as RegionDeploymentRequest, context);
      case unblockInRegion.name:
        return holder.unblockDeployment(request as RegionDeploymentRequest, context);
      case rolloutChanged.name:
        return holder.pollRollout(request as RolloutName);
      case jobInThatRegion.name: {
        const { Namespace, ID } = request as RegionJobRequest;
        return { Job: this.at(region).tables.jobs.get(`${Namespace}/${ID}`) ?? null };
      }
      case deregisterInRegion.name:
        this.deregistrations.push(region);
        return this.at(region).stopJob((request as RegionJobRequest).ID);
      default:
        throw new Error(`no region answers ${call}`);
    }
  }
}
