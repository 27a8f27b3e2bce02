import {
  isClientTerminal,
  type Allocation,
  type Deployment,
  type Job,
  type Node,
  type TaskGroup,
} from '@waybill/model';
import { fixtures } from '@waybill/state';
import { reconcile } from './cluster-reconciler.js';
import type { Reconciliation, UpdateDecision } from './reconciliation.js';

export const NOW_NS = fixtures.timeNs + 3_600e9;

/** A job `web` with one group and its allocations, without a state around them: the vectors of section 22.8. */
export class ReconcilingFixture {
  readonly allocs: Allocation[] = [];
  readonly tainted = new Map<string, Node | null>();
  deployment: Deployment | null = null;
  nowNs = NOW_NS;
  evaluation = fixtures.anEval();
  /** What ran before the job's version; undefined: nothing did. */
  before: Job | undefined;
  /** What becomes of an allocation of an older version. */
  olderIs: UpdateDecision['kind'] = 'destructive';
  private ids = 0;

  constructor(public job: Job) {}

  static of(group: Partial<TaskGroup>, over: Partial<Job> = {}): ReconcilingFixture {
    const made = fixtures.aGroup({ Count: 10, ...group }, over.Type);
    return new ReconcilingFixture(
      fixtures.aJob({ TaskGroups: [made], Version: 1, CreateIndex: 10, ModifyIndex: 20, JobModifyIndex: 20, ...over }),
    );
  }

  /** A running allocation of the job's version on a node of its own. */
  add(index: number, over: Partial<Allocation> = {}): Allocation {
    const alloc = fixtures.anAlloc({
      Job: this.job,
      NodeID: fixtures.freshId(),
      Name: `web.web[${index}]`,
      ClientStatus: 'running',
      ...over,
    });
    this.allocs.push(alloc);
    return alloc;
  }

  /** Of the version before. */
  addOld(index: number, over: Partial<Allocation> = {}): Allocation {
    return this.add(index, { Job: { ...this.job, Version: this.job.Version - 1, JobModifyIndex: 15 }, ...over });
  }

  /** Its node is in this state. */
  taint(alloc: Allocation, over: Partial<Node> | null): Allocation {
    this.tainted.set(alloc.NodeID, over && fixtures.aNode({ ID: alloc.NodeID, ...over }));
    return alloc;
  }

  deploy(over: Partial<Deployment> = {}): Deployment {
    return (this.deployment = fixtures.aDeployment({
      JobVersion: this.job.Version,
      JobCreateIndex: this.job.CreateIndex,
      ...over,
    }));
  }

  readonly newId = (): string => `id-${++this.ids}`;

  run(): Reconciliation {
    return reconcile({
      job: this.job,
      jobId: this.job.ID,
      allocs: this.allocs,
      tainted: this.tainted,
      hasSettled: () => true,
      isComing: () => true,
      deployment: this.deployment,
      evaluation: this.evaluation,
      nowNs: this.nowNs,
      newId: this.newId,
      versionBefore: () => this.before,
      decideUpdate: (alloc): UpdateDecision =>
        alloc.Job && alloc.Job.Version < this.job.Version && !isClientTerminal(alloc)
          ? { kind: this.olderIs, alloc }
          : { kind: 'ignore' },
    });
  }
}

/** The indexes in names. */
export const indexesOf = (named: Iterable<{ readonly name: string }>): number[] =>
  [...named].map(({ name }) => Number(/\[(\d+)\]$/.exec(name)?.[1]));

/** Indexes in the names of what is stopped. */
export const stoppedIndexes = ({ stops }: Reconciliation): number[] =>
  indexesOf(stops.map(({ alloc }) => ({ name: alloc.Name })));
