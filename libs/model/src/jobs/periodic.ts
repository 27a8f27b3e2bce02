import { nsFromMs } from '../time/clock.js';
import { isParameterized, isPeriodic, type Job } from './job.js';

/** The job is launched again and again: neither switched off nor stopped, and no template for dispatches either. */
export function isLaunched(job: Job): boolean {
  return job.Periodic !== null && job.Periodic.Enabled && !job.Stop && !isParameterized(job);
}

/** Its children are launches, not dispatches (ST-60). */
export const isLaunchParent = (job: Job): boolean => isPeriodic(job) && !isParameterized(job);

const LAUNCH = '/periodic-';

/** What a launch is called: to the second, so that one launch has one name (API-5). @param launchMs unix milliseconds */
export const launchId = (parentId: string, launchMs: number): string =>
  `${parentId}${LAUNCH}${Math.floor(launchMs / 1000)}`;

/** When the child of a periodic job was launched, unix milliseconds; undefined: it is called otherwise. */
export function launchMsOf(child: Pick<Job, 'ID' | 'ParentID'>): number | undefined {
  const prefix = `${child.ParentID}${LAUNCH}`;
  const seconds = child.ID.slice(prefix.length);
  return child.ID.startsWith(prefix) && /^\d{1,12}$/.test(seconds) ? Number(seconds) * 1000 : undefined;
}

/** One launch of a periodic job: a job of its own, with everything but the schedule. */
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
