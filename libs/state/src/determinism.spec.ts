import type { AllocClientStatus, DeploymentStatus, EvalStatus } from '@waybill/model';
import { describe, expect, it } from 'vitest';
import { TXN_TYPES, type TxnPayloads, type TxnType } from './catalogue.js';
import { canonicalJson, digestLines, stateDigest } from './digest.js';
import { eventsOf } from './events.js';
import { fixtures } from './fixtures.js';
import { StateMachine } from './state-machine.js';
import type { Table } from './table.js';
import { TABLE_NAMES } from './tables.js';
import type { Fence, Txn } from './txn.js';

const TRANSACTIONS = 2_000;
const SEEDS = [1, 20_261_121];

/** Numbers in [0, 1) that depend on the seed only (mulberry32). */
function seeded(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let t = Math.imul(state ^ (state >>> 15), 1 | state);
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
    return ((t ^ (t >>> 14)) >>> 0) / 4_294_967_296;
  };
}

/** A log of every type of transaction over few ids, so that they meet; a good part of it is invalid. */
class RandomLog {
  readonly txns: Txn[] = [];
  private readonly random: () => number;

  constructor(seed: number) {
    this.random = seeded(seed);
    this.add('Initialise', {});
    while (this.txns.length < TRANSACTIONS) this.addRandom();
  }

  private below(n: number): number {
    return Math.floor(this.random() * n);
  }
  private pick<T>(list: readonly T[]): T {
    return list[this.below(list.length)]!;
  }
  private chance(p: number): boolean {
    return this.random() < p;
  }
  private readonly evalId = () => fixtures.uuid(0xe0000 + this.below(40));
  private readonly allocId = () => fixtures.uuid(0xa0000 + this.below(60));
  private readonly nodeId = () => fixtures.uuid(0x90000 + this.below(6));
  private readonly deploymentId = () => fixtures.uuid(0xd0000 + this.below(8));
  private readonly jobId = () => this.pick(['web', 'web2', 'batch', 'sys', 'cron', 'cron/1', 'cron/2']);
  private readonly job = () => {
    const ID = this.jobId();
    return fixtures.aJob({
      ID,
      Type: ID === 'batch' ? 'batch' : ID === 'sys' ? 'system' : 'service',
      ParentID: ID.startsWith('cron/') ? 'cron' : '',
      Dispatched: ID.startsWith('cron/'),
      DispatchIdempotencyToken: ID.startsWith('cron/') && this.chance(0.2) ? 'once' : '',
      ParameterizedJob: ID === 'cron' ? { Payload: '', MetaRequired: null, MetaOptional: null } : null,
      Namespace: this.chance(0.03) ? 'gone' : 'default',
      Stable: this.chance(0.3),
      CreateIndex: this.below(this.txns.length),
      TaskGroups: [fixtures.aGroup(), ...(this.chance(0.5) ? [fixtures.aGroup({ Name: 'api', Count: 2 })] : [])],
    });
  };
  private readonly evaluation = (over: object = {}) =>
    fixtures.anEval({
      ID: this.evalId(),
      JobID: this.jobId(),
      Status: this.pick<EvalStatus>(['pending', 'pending', 'blocked', 'complete', 'failed', 'canceled']),
      QueuedAllocations: this.chance(0.5) ? { web: this.below(4), api: this.below(3) } : {},
      ...over,
    });
  private readonly evals = () => Array.from({ length: this.below(3) }, () => this.evaluation());
  private readonly clientStatus = () =>
    this.pick<AllocClientStatus>(['pending', 'running', 'running', 'complete', 'failed', 'unknown', 'lost']);
  private readonly allocation = () => {
    const job = this.job();
    return fixtures.anAlloc({
      ID: this.allocId(),
      EvalID: this.evalId(),
      NodeID: this.nodeId(),
      Job: this.chance(0.2) ? null : job,
      JobID: job.ID,
      TaskGroup: this.pick(['web', 'api']),
      ClientStatus: this.chance(0.8) ? 'pending' : this.clientStatus(),
      DeploymentID: this.chance(0.5) ? this.deploymentId() : '',
      DeploymentStatus: this.chance(0.2) ? { Healthy: null, Timestamp: null, Canary: true, ModifyIndex: 0 } : null,
      FollowupEvalID: this.chance(0.3) ? this.evalId() : '',
      AllocStates: this.chance(0.3) ? [{ Field: 0, Value: 'unknown', Time: null }] : [],
      PreviousAllocation: this.chance(0.2) ? this.allocId() : '',
    });
  };

  private readonly make: { readonly [T in TxnType]: () => TxnPayloads[T] } = {
    NodeRegister: () => ({
      Node: fixtures.aNode({
        ID: this.nodeId(),
        NodePool: this.pick(['default', 'gpu']),
        Status: this.pick(['initializing', 'ready']),
      }),
      CreateNodePool: this.chance(0.5),
    }),
    NodeDeregister: () => ({ NodeID: this.nodeId() }),
    NodeUpdateStatus: () => ({
      NodeID: this.nodeId(),
      Status: this.pick(['initializing', 'ready', 'ready', 'down', 'disconnected']),
      UpdatedAt: this.below(1e9),
      NodeEvent: this.chance(0.5) ? this.nodeEvent() : null,
      IdentitySigningKeyID: '',
    }),
    NodeUpdateDrain: () => ({
      NodeID: this.nodeId(),
      DrainStrategy: this.chance(0.5)
        ? { Deadline: 1, IgnoreSystemJobs: false, ForceDeadline: null, StartedAt: null }
        : null,
      MarkEligible: this.chance(0.5),
      NodeEvent: null,
      UpdatedAt: this.below(1e9),
      Meta: this.pick<Record<string, string>>([{ why: 'test' }, {}]),
      UpdatedBy: this.pick(['', 'alice']),
    }),
    NodeUpdateEligibility: () => ({
      NodeID: this.nodeId(),
      Eligibility: this.pick(['eligible', 'ineligible']),
      NodeEvent: null,
      UpdatedAt: this.below(1e9),
    }),
    UpsertNodeEvents: () => ({
      NodeEvents: { [this.nodeId()]: [this.nodeEvent()], [this.nodeId()]: [this.nodeEvent()] },
    }),
    JobRegister: () => {
      const job = this.job();
      return fixtures.aRegistration(job, {
        Eval: this.chance(0.7) ? this.evaluation({ JobID: job.ID, Status: 'pending' }) : null,
        EnforceIndex: this.chance(0.1),
        JobModifyIndex: this.below(30),
        PreserveCounts: this.chance(0.5),
        Submission: this.chance(0.5) ? this.submission() : null,
        SubmissionFrom: this.chance(0.5) ? this.below(4) : null,
        TrackedVersions: 2 + this.below(3),
      });
    },
    JobDeregister: () => ({
      JobID: this.jobId(),
      Purge: this.chance(0.4),
      NoShutdownDelay: this.chance(0.5),
      SubmitTime: this.below(1e9),
      Eval: this.chance(0.6) ? this.evaluation({ Status: 'pending' }) : null,
      TrackedVersions: 3,
    }),
    EvalUpdate: () => ({ Evals: this.evals() }),
    EvalDelete: () => ({
      EvalIDs: [this.evalId(), this.evalId()],
      AllocIDs: [this.allocId(), this.allocId()],
      ScanIndex: this.txns.length - this.below(400),
      UserInitiated: this.chance(0.2),
    }),
    AllocClientUpdate: () => ({
      Allocs: Array.from({ length: this.below(5) }, () =>
        fixtures.aClientUpdate(
          { ID: this.allocId(), NodeID: this.nodeId() },
          {
            ClientStatus: this.clientStatus(),
            ModifyTime: fixtures.timeNs + this.below(1e6) * 1e6,
            DeploymentStatus: this.chance(0.4)
              ? { Healthy: this.pick([true, false, null]), Timestamp: '2026-01-01T00:03:00Z' }
              : null,
          },
        ),
      ),
      Evals: this.evals(),
    }),
    AllocUpdateDesiredTransition: () => ({
      Transitions: { [this.allocId()]: { ...fixtures.anAlloc().DesiredTransition, Migrate: true } },
      Evals: this.evals(),
    }),
    ApplyPlanResults: () =>
      fixtures.aPlanResult({
        Job: this.chance(0.8) ? this.job() : null,
        EvalID: this.evalId(),
        AllocsUpdated: Array.from({ length: this.below(4) }, this.allocation),
        AllocsStopped: this.chance(0.3)
          ? [
              {
                ID: this.allocId(),
                DesiredDescription: 'stop',
                ClientStatus: this.pick(['', 'lost']),
                FollowupEvalID: '',
              },
            ]
          : [],
        AllocsPreempted: this.chance(0.1) ? [{ ID: this.allocId(), PreemptedByAllocation: this.allocId() }] : [],
        Deployment: this.chance(0.4) ? this.deployment() : null,
        DeploymentUpdates: this.chance(0.3) ? [this.deploymentUpdate()] : [],
        FollowupEvals: this.evals(),
        IneligibleNodes: this.chance(0.1) ? [this.nodeId()] : [],
        UpdatedAt: fixtures.timeNs + this.below(1e6) * 1e6,
      }),
    DeploymentStatusUpdate: () => ({
      Update: this.deploymentUpdate(),
      UpdatedAt: fixtures.timeNs + this.below(1e6) * 1e6,
      Eval: this.chance(0.5) ? this.evaluation() : null,
      Job: this.chance(0.3) ? this.job() : null,
      RevertSuffix: ' - reverted',
      TrackedVersions: 3,
    }),
    SchedulerConfig: () => ({
      Config: { ...fixtures.aSchedulerConfiguration(), PauseEvalBroker: this.chance(0.5) },
      CAS: this.chance(0.5),
      ModifyIndex: this.below(20),
    }),
    ClusterMetadata: () => ({ ClusterID: this.pick(['a', 'b']), CreateTime: 1 }),
    LeaseAcquired: () => ({ Role: this.pick(['broker', 'nodes']), Epoch: 1 + this.below(4), Holder: 'h' }),
    Initialise: () => ({}),
    Ignore: () => ({}),
  };

  private readonly nodeEvent = () => ({
    Message: 'm',
    Subsystem: 'Driver' as const,
    Details: null,
    Timestamp: null,
    CreateIndex: 0,
  });
  private readonly submission = () => ({
    Source: 'text',
    Format: 'hcl2',
    VariableFlags: null,
    Variables: '',
    Namespace: '',
    JobID: '',
    Version: 0,
    JobModifyIndex: 0,
  });
  private readonly deployment = () =>
    fixtures.aDeployment({
      ID: this.deploymentId(),
      JobID: this.jobId(),
      JobVersion: this.below(3),
      JobCreateIndex: this.below(this.txns.length),
      TaskGroups: { web: fixtures.aDeploymentState({ Promoted: this.chance(0.3) }) },
    });
  private readonly deploymentUpdate = () => ({
    DeploymentID: this.deploymentId(),
    Status: this.pick<DeploymentStatus>(['running', 'paused', 'failed', 'successful', 'cancelled']),
    StatusDescription: 'd',
  });

  private addRandom(): void {
    const frequent: TxnType[] = [
      'JobRegister',
      'ApplyPlanResults',
      'AllocClientUpdate',
      'EvalUpdate',
      'NodeUpdateStatus',
    ];
    const type = this.chance(0.6) ? this.pick(frequent) : this.pick(Object.keys(TXN_TYPES) as TxnType[]);
    this.add(type, this.make[type]());
  }

  private add<T extends TxnType>(type: T, payload: TxnPayloads[T]): void {
    const index = this.txns.length + 1;
    const copyOf = this.chance(0.02) && index > 10 ? index - 1 - this.below(8) : index;
    const fence: Fence | undefined = this.chance(0.1) ? { role: 'broker', epoch: this.below(4) } : undefined;
    const given = {
      timeNs: fixtures.timeNs + index * 1e8,
      requestId: `request-${copyOf}`,
      namespace: 'default',
      fence,
    };
    // As it comes from the log: nothing of it is shared with what the writer held.
    this.txns.push(JSON.parse(JSON.stringify(fixtures.aTxn(index, type, payload, given))) as Txn);
  }
}

interface Outcome {
  readonly verdicts: string[];
  readonly frames: string[];
}

function applyAll(machine: StateMachine, txns: readonly Txn[]): Outcome {
  const outcome: Outcome = { verdicts: [], frames: [] };
  for (const txn of txns) {
    const applied = machine.apply(txn);
    outcome.verdicts.push(canonicalJson(applied.verdict));
    const frame = eventsOf(applied);
    if (frame) outcome.frames.push(canonicalJson(frame));
  }
  return outcome;
}

/** A copy as a snapshot gives it: rows in another order, members in another order, nothing shared. */
function reloaded(from: StateMachine): StateMachine {
  const machine = new StateMachine();
  const load = <Row extends object>(table: Table<Row>, source: Table<Row>) => {
    const rows = [...source.entries()].toReversed();
    for (const [key, row] of rows) table.replace(key, JSON.parse(canonicalJson(row)) as Row);
    table.tableIndex = source.tableIndex;
  };
  for (const name of TABLE_NAMES) {
    load(machine.tables[name] as Table<object>, from.tables[name] as Table<object>);
  }
  for (const entry of from.requests.entries()) machine.requests.remember(entry);
  machine.startAt(from.appliedIndex);
  return machine;
}

describe.each(SEEDS)('a random log of seed %i', (seed) => {
  const { txns } = new RandomLog(seed);
  const first = new StateMachine();
  const outcome = applyAll(first, txns);

  it('has every type in it, accepted and refused', () => {
    const kinds = (kind: string) => outcome.verdicts.filter((verdict) => verdict.includes(`"kind":"${kind}"`)).length;
    expect(new Set(txns.map((txn) => txn.type)).size).toBe(Object.keys(TXN_TYPES).length);
    expect(kinds('accepted')).toBeGreaterThan(TRANSACTIONS / 4);
    expect(kinds('refused')).toBeGreaterThan(TRANSACTIONS / 20);
    expect(kinds('void')).toBeGreaterThan(10);
    for (const name of ['jobs', 'evals', 'allocs', 'deployment', 'nodes', 'job_version'] as const) {
      expect([name, first.tables[name].size > 0]).toEqual([name, true]);
    }
  });

  it('ST-3: applied twice gives the same rows, verdicts and events', () => {
    const second = new StateMachine();
    expect(applyAll(second, txns)).toEqual(outcome);
    expect([...digestLines(second.tables)]).toEqual([...digestLines(first.tables)]);
    expect(stateDigest(second)).toBe(stateDigest(first));
  });

  it('ST-3 EV-12 EV-13: a copy that starts from a snapshot ends with the same rows, verdicts and events', () => {
    const half = new StateMachine();
    const before = applyAll(half, txns.slice(0, TRANSACTIONS / 2));
    const copy = reloaded(half);
    expect(stateDigest(copy)).toBe(stateDigest(half));
    const after = applyAll(copy, txns.slice(TRANSACTIONS / 2));
    expect([...before.verdicts, ...after.verdicts]).toEqual(outcome.verdicts);
    expect([...before.frames, ...after.frames]).toEqual(outcome.frames);
    expect(stateDigest(copy)).toBe(stateDigest(first));
  });

  it('ST-70 ST-74: what the derived indexes count is what a scan finds, and version rows show the job’s status', () => {
    const { allocs, evals, deployment, jobs, job_version } = first.tables;
    for (const [key, job] of jobs.entries()) {
      const ofJob = (row: { Namespace: string; JobID: string }) => `${row.Namespace}/${row.JobID}` === key;
      const live = [...allocs.all()].filter(
        (row) =>
          ofJob(row) && row.DesiredStatus === 'run' && !['complete', 'failed', 'lost'].includes(row.ClientStatus),
      );
      const open = [...evals.all()].filter((row) => ofJob(row) && ['pending', 'blocked'].includes(row.Status));
      const active = [...deployment.all()].filter((row) => ofJob(row) && ['running', 'paused'].includes(row.Status));
      expect([key, allocs.count('live', key), evals.count('open', key), deployment.count('active', key)]).toEqual([
        key,
        live.length,
        open.length,
        active.length,
      ]);
      const version = job_version.get(`${key}@${job.Version}`);
      expect([key, version?.Status]).toEqual([key, job.Status]);
    }
  });

  it('ST-23 ST-77: indexes and counters are never impossible', () => {
    for (const name of ['jobs', 'evals', 'allocs', 'deployment', 'nodes', 'job_summary'] as const) {
      for (const row of first.tables[name].all()) {
        expect(row.CreateIndex).toBeGreaterThan(0);
        expect(row.ModifyIndex).toBeGreaterThanOrEqual(row.CreateIndex);
        expect(row.ModifyIndex).toBeLessThanOrEqual(first.tables[name].tableIndex);
      }
    }
    for (const summary of first.tables.job_summary.all()) {
      const counters = [...Object.values(summary.Summary), ...(summary.Children ? [summary.Children] : [])];
      for (const counter of counters) expect(Math.min(...Object.values(counter))).toBeGreaterThanOrEqual(0);
    }
  });
});
