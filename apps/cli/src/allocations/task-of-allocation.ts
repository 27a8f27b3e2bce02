import { CommandFailure } from '../failure.js';
import type { AllocationAnswer } from './task-sections.js';

/** The tasks an allocation has: those of its group, or what it reports where its job is not known. */
export function tasksOf(alloc: AllocationAnswer): string[] {
  const group = alloc.Job?.TaskGroups.find((candidate) => candidate.Name === alloc.TaskGroup);
  return group?.Tasks.map((task) => task.Name) ?? Object.keys(alloc.TaskStates ?? {}).toSorted();
}

/** JR-993, CL-412: a task that was named must be there. @throws CommandFailure */
export function mustHaveTask(alloc: AllocationAnswer, task: string): void {
  const { Job, TaskGroup = '' } = alloc;
  if (Job && !Job.TaskGroups.some((group) => group.Name === TaskGroup))
    throw new CommandFailure(`Could not find allocation task group: ${TaskGroup}`);
  const tasks = tasksOf(alloc);
  // An allocation that tells nothing of its tasks is no reason to refuse: the server knows.
  if (tasks.length > 0 && !tasks.includes(task))
    throw new CommandFailure(`Could not find task named: ${task}, found:\n${tasks.join('\n')}`);
}
