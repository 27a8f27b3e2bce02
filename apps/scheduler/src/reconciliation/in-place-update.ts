import {
  isTerminalAllocation,
  specChanged,
  type AllocatedResources,
  type Allocation,
  type Job,
  type TaskGroup,
} from '@waybill/model';
import type { AttemptInput } from '../attempt.js';
import { mayRunOn } from '../ranking/candidate-nodes.js';
import type { UpdateDecision } from './reconciliation.js';
import type { NodeSelector } from '../ranking/node-selector.js';
import type { PlanDraft } from '../plan-draft.js';
import { needsReplacement } from './task-changes.js';

/** Decides how an allocation is updated to the job's current version (section 15). Cost: one node is checked. */
export class InPlaceUpdates {
  constructor(
    private readonly input: AttemptInput,
    private readonly job: Job,
    private readonly plan: PlanDraft,
    private readonly selector: NodeSelector,
  ) {}

  decide(alloc: Allocation, group: TaskGroup): UpdateDecision {
    const { job } = this;
    const before = alloc.Job;
    if (before && before.JobModifyIndex === job.JobModifyIndex && before.CreateIndex === job.CreateIndex)
      return { kind: 'ignore' };
    if (!before || needsReplacement(group.Name, before, job)) return { kind: 'destructive' };
    if (isTerminalAllocation(alloc)) return { kind: 'ignore' }; // an ended allocation needs no update (SC-251)
    if (onlyRunTimeChanged(before, job))
      return { kind: 'in-place', alloc: this.rewritten(alloc, alloc.AllocatedResources) };
    const node = this.input.tables.nodes.get(alloc.NodeID);
    if (!node || !mayRunOn(job, node)) return { kind: 'destructive' }; // its node cannot run the job any more (SC-252)
    // Its own resources do not count, as if it were stopped.
    this.plan.stop({ alloc, description: '' });
    const there = this.selector.select(group, { only: node, allocName: alloc.Name });
    this.plan.withdrawStop(alloc);
    if (!there.node) return { kind: 'destructive' };
    return { kind: 'in-place', alloc: this.rewritten(alloc, there.resources) };
  }

  /** The allocation in the job's version, in place (SC-253). */
  private rewritten(alloc: Allocation, resources: AllocatedResources): Allocation {
    return {
      ...alloc,
      EvalID: this.input.evaluation.ID,
      Job: this.job, // a stored allocation changes its version only if it carries the job (EB-340)
      AllocatedResources: carriedOver(resources, alloc.AllocatedResources),
    };
  }
}

/** Whether the new version needs nothing of the node that the old one did not need (SC-254). */
function onlyRunTimeChanged(before: Job, job: Job): boolean {
  const limits = new Map(job.TaskGroups.map((group) => [group.Name, group.MaxRunDuration]));
  const TaskGroups = before.TaskGroups.map((group) => ({
    ...group,
    MaxRunDuration: limits.get(group.Name) ?? null,
  }));
  const changed = before.TaskGroups.some(({ Name, MaxRunDuration }) => limits.get(Name) !== MaxRunDuration);
  return changed && !specChanged({ ...before, TaskGroups }, job);
}

/**
 * The resources of the updated allocation: ports, networks, devices and cores stay (SC-253). Other amounts of CPU would
 * have replaced it.
 */
function carriedOver(resources: AllocatedResources, old: AllocatedResources): AllocatedResources {
  const tasks = Object.entries(resources.Tasks).map(([name, task]) => {
    const before = old.Tasks[name];
    if (!before) return [name, task];
    return [name, { ...task, Cpu: before.Cpu, Networks: before.Networks, Devices: before.Devices }];
  });
  return {
    ...resources,
    Tasks: Object.fromEntries(tasks),
    Shared: { ...resources.Shared, Networks: old.Shared.Networks, Ports: old.Shared.Ports },
  };
}
