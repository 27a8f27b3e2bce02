import type { Conversation } from './conversation.js';
import { failedTo } from './errors.js';
import type { RestartOptions } from './options.js';
import { type Candidate, tasksToRestart } from './selection.js';
import type { RestartServer } from './server.js';

/** Restarts tasks of an allocation in place (JR-551 to JR-555). @returns the errors; never rejects */
export async function restartInPlace(
  candidate: Candidate,
  { tasks, allTasks }: Pick<RestartOptions, 'tasks' | 'allTasks'>,
  { server, conversation, shown }: { server: RestartServer; conversation: Conversation; shown: (id: string) => string },
): Promise<unknown[]> {
  const { ID, TaskGroup } = candidate.alloc;
  const where = `in allocation "${shown(ID)}" for group "${TaskGroup}"`;
  if (tasks.size === 0) {
    conversation.detail(`Restarting ${allTasks ? 'all' : 'running'} tasks ${where}`);
    return failuresOf([server.restart(ID, '', allTasks)], () => 'restart allocation');
  }
  const names = tasksToRestart(candidate, tasks);
  const calls = names.map((task) => {
    conversation.detail(`Restarting task "${task}" ${where}`);
    return server.restart(ID, task, false);
  });
  return failuresOf(calls, (i) => `restart task "${names[i]}"`);
}

async function failuresOf(calls: readonly Promise<void>[], doing: (call: number) => string): Promise<Error[]> {
  const ended = await Promise.allSettled(calls);
  return ended.flatMap((end, i) => (end.status === 'rejected' ? [failedTo(doing(i), end.reason)] : []));
}
