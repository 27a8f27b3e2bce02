import { nsFromMs } from '../time/clock.js';
import { isParameterized, isPeriodic, type Job } from './job.js';

/**
 * Whether the job is launched periodically: it is neither disabled nor stopped, and it is not a template for
 * dispatches.
 */
export function isLaunched(job: Job): boolean {
  return job.Periodic !== null && job.Periodic.Enabled && !job.Stop && !isParameterized(job);
}

/** Whether the children of the job are launches, not dispatches (ST-60). */
export const isLaunchParent = (job: Job): boolean => isPeriodic(job) && !isParameterized(job);

const LAUNCH = '/periodic-';

/**
 * Returns the ID of a launch. It contains the second of the launch, so each launch has one ID (API-5). @param launchMs
 * unix milliseconds
 */
export const launchId = (parentId: string, launchMs: number): string =>
  `${parentId}${LAUNCH}${Math.floor(launchMs / 1000)}`;

/** Returns the launch time of a periodic job's child in unix milliseconds, or undefined if its ID has another form. */
export function launchMsOf(child: Pick<Job, 'ID' | 'ParentID'>): number | undefined {
  const prefix = `${child.ParentID}${LAUNCH}`;
  const seconds = child.ID.slice(prefix.length);
  return child.ID.startsWith(prefix) && /^\d{1,12}$/.test(seconds) ? Number(seconds) * 1000 : undefined;
}

/** Returns one launch of a periodic job: a job of its own, without the schedule. */
export function launchOf(parent: Job, launchMs: number, nowMs: number): Job {
  const ID = launchId(parent.ID, launchMs);
  return {
    ...parent,
    ID,
    Name: ID,
    ParentID: parent.ID,
    Periodic: null,
    Status: 'pending',
    StatusDescription: '',
    Stable: false,
    Version: 0,
    VersionTag: null,
    SubmitTime: nsFromMs(nowMs),
    CreateIndex: 0,
    ModifyIndex: 0,
    JobModifyIndex: 0,
  };
}
