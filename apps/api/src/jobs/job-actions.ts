import type { Job } from '@waybill/model';

/** Commands that the job's author prepared for its tasks, with where they run. */
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
