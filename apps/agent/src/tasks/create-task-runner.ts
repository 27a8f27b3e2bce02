import type { Task } from '@waybill/model';
import type { AllocationContext } from '../allocations/allocation-context.js';
import { AllocationNotRunnableError } from '../allocations/allocation-job.js';
import { RestartTracker } from './restart-tracker.js';
import { TaskContext } from './task-context.js';
import { kindOf, restartsOnSuccess } from './task-lifecycle.js';
import { NEW_STATE, type TaskRecord } from './task-record.js';
import { TaskRunner } from './task-runner.js';

/** @param restored what an earlier agent has kept of it @throws AllocationNotRunnableError when this machine lacks its driver */
export function createTaskRunner(task: Task, allocation: AllocationContext, restored?: TaskRecord): TaskRunner {
  const { drivers, clock, random } = allocation.agent;
  const driver = drivers.get(task.Driver);
  if (!driver)
    throw new AllocationNotRunnableError(`failed to create task runner: task driver "${task.Driver}" is not known`);
  const kind = kindOf(task);
  const restarts = new RestartTracker(task.RestartPolicy, restartsOnSuccess(kind, allocation.job.Type), clock, random);
  const state = restored?.state ?? NEW_STATE;
  return new TaskRunner(new TaskContext({ task, allocation, kind, driver, restarts, state }), restored);
}
