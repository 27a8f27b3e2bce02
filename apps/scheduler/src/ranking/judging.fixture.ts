import type { Allocation, Job, Node } from '@waybill/model';
import { fixtures, type Tables } from '@waybill/state';
import { Feasibility } from '../feasibility/feasibility.js';
import { VolumeFeasibility } from '../feasibility/volume-feasibility.js';
import { PlanDraft } from '../plan-draft.js';
import { askOf, type GroupAsk } from './group-ask.js';
import { JobOnNodes } from './job-on-nodes.js';
import type { NodeJudgeDeps } from './node-judge.js';
import { PropertyUses } from './property-uses.js';
import { Ranking } from './ranking.js';

/** What the judgement of nodes for the first group of a job needs, over a state with these nodes and a plan. */
export class JudgingFixture {
  readonly tables: Tables = fixtures.aMachine().tables;
  readonly plan: PlanDraft;
  readonly uses: PropertyUses;
  readonly feasibility: Feasibility;
  readonly ask: GroupAsk;
  readonly ranking: Ranking;
  readonly deps: NodeJudgeDeps;

  constructor(
    readonly job: Job,
    readonly nodes: readonly Node[],
    stored: readonly Allocation[] = [],
  ) {
    const { tables } = this;
    for (const node of nodes) tables.nodes.replace(node.ID, node);
    for (const alloc of stored) tables.allocs.replace(alloc.ID, alloc);
    const plan = (this.plan = new PlanDraft(tables));
    const uses = (this.uses = new PropertyUses(job, tables, plan));
    const allocs = {
      proposed: (node: Node) => plan.proposed(node),
      countByProperty: (target: string, value: string, group: string | undefined) =>
        uses.counts(target, group).get(value) ?? 0,
    };
    this.feasibility = new Feasibility(job, allocs, new VolumeFeasibility(job, tables, allocs), false);
    const [group] = job.TaskGroups;
    if (!group) throw new Error('the job has no group');
    this.ask = askOf(group, false);
    this.ranking = new Ranking(job, group, 'binpack', (attribute) => uses.counts(attribute, group.Name));
    const own = new JobOnNodes(job, tables, plan);
    this.deps = { job, feasibility: this.feasibility, plan, own, random: () => 0.5 };
  }
}

/** A job whose one task asks for so many MHz and megabytes. */
export function jobAsking(CPU: number, MemoryMB: number, over: Partial<Job> = {}): Job {
  const task = fixtures.aTask();
  const Tasks = [{ ...task, Resources: { ...task.Resources, CPU, MemoryMB } }];
  return fixtures.aJob({ TaskGroups: [fixtures.aGroup({ Tasks, Count: 4 })], ...over });
}

/** A running allocation of the job on the node, with the resources that the job asks for. */
export const allocOn = (node: Node, Job: Job, over: Partial<Allocation> = {}): Allocation =>
  fixtures.anAlloc({ Job, NodeID: node.ID, ClientStatus: 'running', ...over });
