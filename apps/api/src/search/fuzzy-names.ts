import type { Job, Task } from '@waybill/model';

/** Named is something found by its name, with its place: namespace and IDs from the outside in (API-252). */
export interface Named {
  readonly name: string;
  readonly scope: readonly string[];
}

/** The parts of a job that can be searched. */
export const JOB_PARTS = ['jobs', 'groups', 'services', 'tasks', 'images', 'commands', 'classes'] as const;
export type JobPart = (typeof JOB_PARTS)[number];

/** Returns every name in a job that can be found, with its kind. */
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

/** The kinds of the members of a driver's configuration. */
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
