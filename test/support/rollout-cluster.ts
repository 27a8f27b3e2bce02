import { DeploymentWatchers, OperatorCommands, RegionCommands, RegionsController } from '@waybill/deployments';
import {
  FakeTime,
  isActiveDeployment,
  nsFromMs,
  rfc3339FromMs,
  type Allocation,
  type Deployment,
  type Evaluation,
  type Job,
  type Node,
  type TaskGroup,
} from '@waybill/model';
import { termOf } from '@waybill/roles';
import type { Regions, SubmitPlanRequest } from '@waybill/rpc';
import { fixtures } from '@waybill/state';
import { silentLogger } from '@waybill/telemetry';
import { LocalControlPlane } from './local-control-plane.js';

const { aGroup, aJob, aNode, anEval, aRegistration, aTask } = fixtures;

/** How long a machine takes from the plan to the report that an allocation is healthy. */
export const HEALTHY_AFTER_MS = 2_000;
/** How long it takes to stop one. */
const STOPPED_AFTER_MS = 100;
export const MINUTE = 60_000;
/** How often a condition is looked at while time passes. */
const STEP_MS = 250;

export const UPDATE: NonNullable<TaskGroup['Update']> = {
  Stagger: 30e9,
  MaxParallel: 1,
  HealthCheck: 'task_states',
  MinHealthyTime: 1e9,
  HealthyDeadline: 10e9,
  ProgressDeadline: 600e9,
  AutoRevert: false,
  AutoPromote: false,
  Canary: 0,
};

/** Tasks that differ by version: another number is a destructive update. */
export const tasksOf = (version: number | string) => [aTask({ Env: { VERSION: String(version) } })];

/** Broker, workers, watchers of deployments and machines on one clock and one log. */
export class RolloutCluster {
  readonly plane: LocalControlPlane;
  /** Whether an allocation becomes healthy; undefined: nothing is ever said about it. */
  health: (alloc: Allocation) => boolean | undefined = () => true;
  private watchers: DeploymentWatchers;
  readonly commands = new OperatorCommands(() => this.watchers.watching);
  private epoch = 0;
  private readonly seen = new Set<string>();

  /** @param regions that this one is among, if there are several; on the same clock */
  private constructor(
    readonly time = new FakeTime(),
    private readonly regions?: Regions,
  ) {
    this.plane = new LocalControlPlane(time, time);
    this.watchers = this.newWatchers();
  }

  static async start(nodes = 1, time?: FakeTime, regions?: Regions): Promise<RolloutCluster> {
    const cluster = new RolloutCluster(time, regions);
    await cluster.plane.start(2);
    cluster.plane.state.onApplied((applied) => {
      cluster.watchers.applied(applied);
      for (const change of applied.changes)
        if (change.table === 'allocs' && change.after) cluster.machineSees(change.after);
    });
    for (let i = 0; i < nodes; i++) await cluster.addNode();
    await cluster.lead();
    return cluster;
  }

  async stop(): Promise<void> {
    this.watchers.stop();
    const stopped = this.plane.stop();
    await this.time.pass(10_000);
    await stopped;
  }

  /** What other regions ask of the present holder. */
  get forRegions(): RegionsController {
    const { watchers } = this;
    return new RegionsController(watchers, new RegionCommands(() => watchers.watching));
  }

  get tables() {
    return this.plane.state.tables;
  }

  get stats() {
    return this.watchers.stats();
  }

  /** Another process takes the role; the one before is gone without a word. */
  async lead(): Promise<void> {
    this.watchers.stop();
    this.watchers = this.newWatchers();
    const epoch = ++this.epoch;
    await this.plane.write('LeaseAcquired', { Role: 'deployments', Epoch: epoch, Holder: `holder-${epoch}` });
    this.watchers.start(termOf('deployments', epoch));
  }

  /** Nobody holds the role until the next `lead`. */
  loseLeader(): void {
    this.watchers.stop();
  }

  /** A machine joins; what wants to run there is told (ND-73). */
  async addNode(over: Parameters<typeof aNode>[0] = {}): Promise<string> {
    const ID = over.ID ?? this.plane.newId();
    const Node = aNode({ ...over, ID });
    await this.plane.write('NodeRegister', { Node, CreateNodePool: false });
    const systemJobs = [...this.tables.jobs.all()].filter((job) => job.Type === 'system');
    for (const job of systemJobs) await this.evaluate(job.ID, 'node-update');
    return ID;
  }

  /** What the service of nodes writes when a machine changes its state (ND-73). */
  async nodeIs(NodeID: string, Status: Node['Status']): Promise<void> {
    const UpdatedAt = Math.floor(this.time.nowMs() / 1_000);
    await this.plane.write('NodeUpdateStatus', {
      NodeID,
      Status,
      UpdatedAt,
      NodeEvent: null,
      IdentitySigningKeyID: '',
    });
    const jobs = new Set([...this.tables.allocs.by('node', NodeID)].map((alloc) => alloc.JobID));
    for (const id of jobs) await this.evaluate(id, 'node-update');
  }

  async evaluate(JobID: string, TriggeredBy: Evaluation['TriggeredBy']): Promise<void> {
    const { Type = 'service' } = this.tables.jobs.get(`default/${JobID}`) ?? {};
    const CreateTime = nsFromMs(this.time.nowMs());
    const evaluation = anEval({ ID: this.plane.newId(), JobID, Type, TriggeredBy, CreateTime });
    await this.plane.write('EvalUpdate', { Evals: [evaluation] });
  }

  /** The next version of the job `web`, or of `over.ID`. */
  async register(groups: Record<string, Partial<TaskGroup>>, over: Partial<Job> = {}): Promise<Job> {
    const Type = over.Type ?? 'service';
    const TaskGroups = Object.entries(groups).map(([Name, group]) =>
      aGroup({ Name, Count: Type === 'system' ? 1 : 3, Update: UPDATE, ...group }, Type),
    );
    const job = aJob({ TaskGroups, ...over });
    const Eval = anEval({ ID: this.plane.newId(), JobID: job.ID, Type });
    await this.plane.write('JobRegister', aRegistration(job, { Eval }));
    return this.tables.jobs.get(`default/${job.ID}`)!;
  }

  async stopJob(JobID = 'web'): Promise<void> {
    await this.plane.write('JobDeregister', {
      JobID,
      Purge: false,
      NoShutdownDelay: false,
      SubmitTime: 0,
      Eval: anEval({ ID: this.plane.newId(), JobID, TriggeredBy: 'job-deregister' }),
      TrackedVersions: 6,
    });
  }

  /** Lets time pass until it is so. @throws after `withinMs` with what the deployments are */
  async passUntil<T>(what: string, condition: () => T | undefined | false, withinMs = 2 * MINUTE): Promise<T> {
    for (let ms = 0; ms <= withinMs; ms += STEP_MS) {
      const found = condition();
      if (found) return found;
      await this.time.pass(STEP_MS);
    }
    const seen = this.deployments().map((d) => `${d.JobVersion} ${d.Status}: ${d.StatusDescription}`);
    throw new Error(`not within ${withinMs} ms: ${what} (${seen.join(', ')})`);
  }

  /** Lets time pass until the deployment of the job's newest version is in this status. */
  until(Status: Deployment['Status'], withinMs = 2 * MINUTE): Promise<Deployment> {
    return this.passUntil(
      Status,
      () => {
        const deployment = this.deployment();
        const version = this.tables.jobs.get('default/web')?.Version;
        return deployment?.Status === Status && deployment.JobVersion === version ? deployment : undefined;
      },
      withinMs,
    );
  }

  /** Something else happens right before or right after the next plan that `isTheOne` is applied. */
  aroundPlan(
    when: 'before' | 'after',
    isTheOne: (plan: SubmitPlanRequest['Plan']) => boolean,
    happening: () => Promise<unknown>,
  ): Promise<void> {
    return new Promise((resolve) => {
      this.plane.around = async (call, request, carryOut) => {
        const plan = call === 'broker.submitPlan' ? (request as SubmitPlanRequest).Plan : undefined;
        if (!plan || !isTheOne(plan)) return carryOut();
        this.plane.around = undefined;
        if (when === 'before') await happening();
        try {
          return await carryOut();
        } finally {
          if (when === 'after') await happening();
          resolve();
        }
      };
    });
  }

  /** Newest first. */
  deployments(jobId?: string): Deployment[] {
    return [...this.tables.deployment.all()]
      .filter((deployment) => jobId === undefined || deployment.JobID === jobId)
      .toSorted((a, b) => b.CreateIndex - a.CreateIndex);
  }

  deployment(): Deployment | undefined {
    return this.deployments()[0];
  }

  active(): Deployment[] {
    return this.deployments().filter(isActiveDeployment);
  }

  live(version?: number): Allocation[] {
    return [...this.tables.allocs.all()].filter(
      (a) => a.DesiredStatus === 'run' && (version === undefined || a.Job?.Version === version),
    );
  }

  evaluations(trigger: string): number {
    return [...this.tables.evals.all()].filter((e) => e.TriggeredBy === trigger).length;
  }

  /** A machine's report about one of its allocations. */
  report(alloc: Allocation, ClientStatus: Allocation['ClientStatus'], Healthy?: boolean): Promise<unknown> {
    const Timestamp = rfc3339FromMs(this.time.nowMs());
    return this.plane.write('AllocClientUpdate', {
      Allocs: [
        fixtures.aClientUpdate(alloc, {
          ClientStatus,
          ModifyTime: nsFromMs(this.time.nowMs()),
          DeploymentStatus: Healthy === undefined ? null : { Healthy, Timestamp },
        }),
      ],
      Evals: [],
    });
  }

  private newWatchers(): DeploymentWatchers {
    return new DeploymentWatchers({
      state: this.plane.state,
      clock: this.time,
      timers: this.time,
      newId: this.plane.newId,
      logger: silentLogger,
      region: this.regions?.own ?? 'global',
      ...(this.regions && { peers: { regions: this.regions, random: () => 0.5 } }),
    });
  }

  /** What a machine does about an allocation: once for each deployment it is part of, and when it is to stop. */
  private machineSees(alloc: Allocation): void {
    const stops = alloc.DesiredStatus !== 'run';
    const key = `${alloc.ID} ${alloc.DeploymentID} ${stops}`;
    if (this.seen.has(key) || alloc.ClientStatus === 'complete' || alloc.ClientStatus === 'failed') return;
    this.seen.add(key);
    this.time.after(stops ? STOPPED_AFTER_MS : HEALTHY_AFTER_MS, () => {
      if (stops) return void this.report(alloc, 'complete');
      const healthy = this.health(alloc);
      void this.report(alloc, healthy === false ? 'failed' : 'running', healthy);
    });
  }
}
