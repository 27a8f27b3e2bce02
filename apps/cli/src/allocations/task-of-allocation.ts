import { CommandFailure } from '../failure.js';
import type { AllocationAnswer } from './task-sections.js';

/** Returns the tasks of an allocation: those of its group, or the reported ones if its job is unknown. */
export function tasksOf(alloc: AllocationAnswer): string[] {
  const group = alloc.Job?.TaskGroups.find((candidate) => candidate.Name === alloc.TaskGroup);
  return group?.Tasks.map((task) => task.Name) ?? Object.keys(alloc.TaskStates ?? {}).toSorted();
}

/** Checks that a task named by the user exists (JR-993, CL-412). @throws CommandFailure */
export function mustHaveTask(alloc: AllocationAnswer, task: string): void {
  const { Job, TaskGroup = '' } = alloc;
  if (Job && !Job.TaskGroups.some((group) => group.Name === TaskGroup))
    throw new CommandFailure(`Could not find allocation task group: ${TaskGroup}`);
  const tasks = tasksOf(alloc);
  // An allocation without any task information is accepted, because the server checks the task too.
  if (tasks.length > 0 && !tasks.includes(task))
    throw new CommandFailure(`Could not find task named: ${task}, found:\n${tasks.join('\n')}`);
}
