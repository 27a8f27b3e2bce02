import type { Job, Task } from '@waybill/model';

/** Something found by its name, and where it is: namespace and ids from the outside in (API-252). */
export interface Named {
  readonly name: string;
  readonly scope: readonly string[];
}

/** What a job is made of that people look for. */
export const JOB_PARTS = ['jobs', 'groups', 'services', 'tasks', 'images', 'commands', 'classes'] as const;
export type JobPart = (typeof JOB_PARTS)[number];

/** Everything of a job that can be found, by kind. */
export function* namesOf(job: Job): Generator<readonly [JobPart, Named]> {
  const ofJob = [job.Namespace, job.ID];
  yield ['jobs', { name: job.Name, scope: ofJob }];
  for (const group of job.TaskGroups) {
    const ofGroup = [...ofJob, group.Name];
    yield ['groups', { name: group.Name, scope: ofJob }];
    for (const { Name } of group.Services ?? []) yield ['services', { name: Name, scope: ofGroup }];
    for (const task of group.Tasks) {
      yield ['tasks', { name: task.Name, scope: ofGroup }];
      yield* namesOfTask(task, [...ofGroup, task.Name]);
    }
  }
}

/** Which member of a driver's configuration is what. */
const CONFIGURED = [
  ['images', 'image'],
  ['commands', 'command'],
  ['classes', 'class'],
] as const;

function* namesOfTask({ Services, Config }: Task, scope: readonly string[]): Generator<readonly [JobPart, Named]> {
  for (const { Name } of Services ?? []) yield ['services', { name: Name, scope }];
  for (const [part, member] of CONFIGURED) {
    const name = Config?.[member];
    if (typeof name === 'string') yield [part, { name, scope }];
  }
}
