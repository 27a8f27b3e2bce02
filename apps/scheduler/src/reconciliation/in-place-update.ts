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

/** Decides how an allocation becomes what its job says now (section 15). Cost: one node is looked at. */
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
    if (isTerminalAllocation(alloc)) return { kind: 'ignore' }; // SC-251
    if (onlyRunTimeChanged(before, job))
      return { kind: 'in-place', alloc: this.rewritten(alloc, alloc.AllocatedResources) };
    const node = this.input.tables.nodes.get(alloc.NodeID);
    if (!node || !mayRunOn(job, node)) return { kind: 'destructive' }; // SC-252
    // With its own resources discounted: as if it were stopped.
    this.plan.stop({ alloc, description: '' });
    const there = this.selector.select(group, { only: node, allocName: alloc.Name });
    this.plan.withdrawStop(alloc);
    if (!there.node) return { kind: 'destructive' };
    return { kind: 'in-place', alloc: this.rewritten(alloc, there.resources) };
  }

  /** SC-253. */
  private rewritten(alloc: Allocation, resources: AllocatedResources): Allocation {
    return {
      ...alloc,
      EvalID: this.input.evaluation.ID,
      Job: this.job, // EB-340: a stored allocation moves to another version only if it says so
      AllocatedResources: carriedOver(resources, alloc.AllocatedResources),
    };
  }
}

/** SC-254: nothing is asked of the node that it does not give already. */
function onlyRunTimeChanged(before: Job, job: Job): boolean {
  const limits = new Map(job.TaskGroups.map((group) => [group.Name, group.MaxRunDuration]));
  const TaskGroups = before.TaskGroups.map((group) => ({
    ...group,
    MaxRunDuration: limits.get(group.Name) ?? null,
  }));
  const changed = before.TaskGroups.some(({ Name, MaxRunDuration }) => (limits.get(Name) ?? null) !== MaxRunDuration);
  return changed && !specChanged({ ...before, TaskGroups }, job);
}

/** Ports, networks, devices and cores stay what they are; the amounts are the new ones. */
function carriedOver(resources: AllocatedResources, old: AllocatedResources): AllocatedResources {
  const tasks = Object.entries(resources.Tasks).map(([name, task]) => {
    const before = old.Tasks[name];
    if (!before) return [name, task];
    const cpu = before.Cpu.ReservedCores ? before.Cpu : task.Cpu;
    return [name, { ...task, Cpu: cpu, Networks: before.Networks, Devices: before.Devices }];
  });
  return {
    ...resources,
    Tasks: Object.fromEntries(tasks),
    Shared: { ...resources.Shared, Networks: old.Shared.Networks, Ports: old.Shared.Ports },
  };
}
