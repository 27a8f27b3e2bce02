import type { Job } from '@waybill/model';

/** Returns the commands that the job's author prepared for its tasks, with the tasks in which they run. */
export const actionsOf = (job: Job): object[] =>
  job.TaskGroups.flatMap((group) =>
    group.Tasks.flatMap((task) =>
      (task.Actions ?? []).map(({ Name, Command, Args }) => ({
        Name,
        Command,
        Args,
        TaskName: task.Name,
        TaskGroupName: group.Name,
      })),
    ),
  );
