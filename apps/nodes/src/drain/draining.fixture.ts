import { nodesWriter } from '../node/nodes-writer.js';
import { type Allocation, FakeTime, type Job, type Node } from '@waybill/model';
import { LocalState } from '@waybill/replica';
import type { OnBehalfOf } from '@waybill/rpc';
import { draftTxn, fixtures, serviceActor, type TxnPayloads, type TxnType } from '@waybill/state';
import { silentLogger } from '@waybill/telemetry';
import { DrainCommands } from './drain-commands.js';
import { Drainer } from './drainer.js';
import { NodeEvaluations } from '../node/node-evaluations.js';

export const SECOND = 1_000;
export const MINUTE = 60 * SECOND;

function present<Row>(row: Row | undefined): Row {
  if (row === undefined) throw new Error('not in the state of this test');
  return row;
}

/** A drainer and the commands of users over a local log, on a clock of its own; no scheduler, no machines. */
export class Draining {
  readonly time = new FakeTime(fixtures.timeNs / 1e6);
  readonly state = new LocalState(fixtures.aMachine());
  private readonly writes = { clock: this.time, newId: () => this.newId(), region: 'global' };
  private readonly writer = nodesWriter(this.state, this.writes);
  readonly commands = new DrainCommands(this.state, new NodeEvaluations(this.state, this.writer), this.writer);
  drainer = this.newDrainer();
  private ids = 0;
  private epoch = 0;

  constructor() {
    this.state.onApplied((applied) => this.drainer.applied(applied));
  }

  /** Another holder begins; the one before is gone without a word. */
  async lead(): Promise<void> {
    this.drainer.stop();
    this.drainer = this.newDrainer();
    const epoch = ++this.epoch;
    await this.write('LeaseAcquired', { Role: 'nodes', Epoch: epoch, Holder: `holder-${epoch}` });
    this.drainer.start({ role: 'nodes', epoch });
  }

  write<T extends TxnType>(type: T, payload: TxnPayloads[T]) {
    const context = { timeNs: this.time.nowMs() * 1e6, requestId: this.newId(), actor: serviceActor('test') };
    return this.state.propose(draftTxn(type, payload, { ...context, namespace: 'default' }));
  }

  async node(over: Partial<Node> = {}): Promise<string> {
    const node = fixtures.aNode(over);
    await this.write('NodeRegister', { Node: node, CreateNodePool: false });
    return node.ID;
  }

  /** A registered job of one group, `max_parallel` 1 unless said. */
  async job(count: number, maxParallel = 1, over: Partial<Job> = {}): Promise<Job> {
    const Migrate = { MaxParallel: maxParallel, HealthCheck: 'checks', MinHealthyTime: 10e9, HealthyDeadline: 300e9 };
    const TaskGroups = [fixtures.aGroup({ Name: 'web', Count: count, Migrate })];
    const job = fixtures.aJob({ ID: `job-${++this.ids}`, TaskGroups, ...over });
    const draft = draftTxn(
      'JobRegister',
      fixtures.aRegistration(job, { Eval: fixtures.anEval({ JobID: job.ID, Namespace: job.Namespace }) }),
      {
        timeNs: this.time.nowMs() * 1e6,
        requestId: this.newId(),
        actor: serviceActor('test'),
        namespace: job.Namespace,
      },
    );
    await this.state.propose(draft);
    return present(this.state.tables.jobs.get(`${job.Namespace}/${job.ID}`));
  }

  /** Healthy allocations of the job on the node. */
  async place(job: Job, NodeID: string, number = 1, over: Partial<Allocation> = {}): Promise<Allocation[]> {
    const allocs = Array.from({ length: number }, () =>
      fixtures.anAlloc({
        Job: job,
        JobID: job.ID,
        Namespace: job.Namespace,
        TaskGroup: 'web',
        NodeID,
        ClientStatus: 'running',
        DeploymentStatus: { Healthy: true, Timestamp: null, Canary: false, ModifyIndex: 0 },
        ...over,
      }),
    );
    const [evaluation] = this.state.tables.evals.by('job', `${job.Namespace}/${job.ID}`);
    const plan = fixtures.aPlanResult({ Job: job, AllocsUpdated: allocs, EvalID: present(evaluation).ID });
    const { verdict } = await this.write('ApplyPlanResults', plan);
    if (verdict.kind !== 'accepted') throw new Error(`not placed: ${JSON.stringify(verdict)}`);
    return allocs;
  }

  /** The agent's word. */
  async report(alloc: Allocation, ClientStatus: Allocation['ClientStatus'], healthy?: boolean): Promise<void> {
    const DeploymentStatus = healthy === undefined ? null : { Healthy: healthy, Timestamp: '2026-01-01T00:00:00Z' };
    await this.write('AllocClientUpdate', {
      Allocs: [fixtures.aClientUpdate(alloc, { ClientStatus, DeploymentStatus })],
      Evals: [],
    });
  }

  drain(NodeID: string, Deadline = 60 * MINUTE * 1e6, IgnoreSystemJobs = false) {
    const asked = { NodeID, MarkEligible: false, Meta: null, UpdatedBy: 'token:acls-disabled', For: this.by() };
    return this.commands.updateDrain({ ...asked, DrainSpec: { Deadline, IgnoreSystemJobs } });
  }

  cancel(NodeID: string, MarkEligible = false, Meta: Record<string, string> | null = null) {
    const asked = { NodeID, MarkEligible, Meta, UpdatedBy: 'token:acls-disabled', For: this.by() };
    return this.commands.updateDrain({ ...asked, DrainSpec: null });
  }

  by(): OnBehalfOf {
    return { Actor: { Kind: 'anonymous', ID: '', Name: '' }, Reason: '', RequestID: this.newId() };
  }

  stored(nodeId: string): Node {
    return present(this.state.tables.nodes.get(nodeId));
  }

  /** Messages of the node's events. */
  messages(nodeId: string): string[] {
    return this.stored(nodeId).Events.map((event) => event.Message);
  }

  allocs(job?: Job): Allocation[] {
    return [...this.state.tables.allocs.all()].filter(
      (a) => !job || (a.JobID === job.ID && a.Namespace === job.Namespace),
    );
  }

  marked(job?: Job): Allocation[] {
    return this.allocs(job).filter((alloc) => alloc.DesiredTransition.Migrate === true);
  }

  drainEvals() {
    return [...this.state.tables.evals.all()].filter((e) => e.TriggeredBy === 'node-drain');
  }

  /** Types of what was written since. */
  writtenSince(index: number): string[] {
    return this.state.history.filter((a) => a.index > index).map((a) => a.txn.type);
  }

  private newDrainer(): Drainer {
    const { state, time } = this;
    return new Drainer({ ...this.writes, state, timers: time, logger: silentLogger });
  }

  private newId(): string {
    return `22222222-2222-4222-8222-${(++this.ids).toString(16).padStart(12, '0')}`;
  }
}
