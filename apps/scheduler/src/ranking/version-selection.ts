import type { ProposedAllocs } from '../feasibility/proposed-allocs.js';
import type { Job } from '@waybill/model';
import { configFor, type AttemptInput } from '../attempt.js';
import type { Candidates } from './candidate-nodes.js';
import { Feasibility } from '../feasibility/feasibility.js';
import { JobOnNodes } from './job-on-nodes.js';
import { NodeSelector } from './node-selector.js';
import type { PlanDraft } from '../plan-draft.js';
import { PropertyUses } from './property-uses.js';
import type { SeededRandom } from '../seeded-random.js';
import { VolumeFeasibility } from '../feasibility/volume-feasibility.js';

/** Finds nodes for one version of a job. Versions share none of its parts (SC-131). */
export interface VersionSelection {
  readonly feasibility: Feasibility;
  readonly selector: NodeSelector;
}

/** A version of a job, the nodes among which one is wanted, and the plan so far. */
export interface VersionOnNodes {
  readonly job: Job;
  /** In the order in which they are checked. */
  readonly candidates: Candidates;
  readonly input: AttemptInput;
  readonly plan: PlanDraft;
  readonly random: SeededRandom;
}

export function selectionFor({ job, candidates, input, plan, random }: VersionOnNodes): VersionSelection {
  const { tables } = input;
  const uses = new PropertyUses(job, tables, plan);
  const allocs: ProposedAllocs = {
    proposed: (node) => plan.proposed(node),
    countByProperty: (target, value, group) => uses.counts(target, group).get(value) ?? 0,
  };
  const feasibility = new Feasibility(
    job,
    allocs,
    new VolumeFeasibility(job, tables, allocs),
    job.Type === 'system' || job.Type === 'sysbatch',
  );
  const selector = new NodeSelector({
    job,
    candidates,
    feasibility,
    plan,
    own: new JobOnNodes(job, tables, plan),
    config: configFor(job, tables),
    uses,
    random: () => random.next(),
  });
  return { feasibility, selector };
}
