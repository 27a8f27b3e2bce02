import { type CancelTimer, isMultiregion, type Job, regionsOf } from '@waybill/model';
import { deregisterInRegion, jobInThatRegion, type Regions } from '@waybill/rpc';
import { namespacedKey, serviceActor, type Tables } from '@waybill/state';
import type { Watching } from '../watching/deployment-watcher.js';
import type { PeerContacts } from './peer-contacts.js';

/** First and longest pause before a region that does not answer is called again, milliseconds. */
export const FIRST_DROP_RETRY_MS = 5_000;
export const MAX_DROP_RETRY_MS = 300_000;
/**
 * A region that has stopped the job, or did not have it, is checked once more after this, because an earlier
 * registration by another region may have been on its way there. Longer than any registration takes, milliseconds.
 */
export const LATE_REGISTRATION_MS = 60_000;

export interface DroppedRegionsDeps {
  readonly regions: Regions;
  readonly watching: Watching;
  readonly contacts: PeerContacts;
}

/** A job that must be stopped in one region. */
interface Departure {
  readonly job: Job;
  readonly region: string;
  /** The job was stopped there; this is the check for late registrations. */
  isLastLook?: boolean;
  cancelTimer?: CancelTimer;
}

/**
 * Stops multiregion jobs in the regions that they no longer list (DP-1113). The first region of the list does it.
 *
 * Modes of a departure: asking → waiting → asking → … → done (forgotten). A region that does not answer is called again
 * after a growing pause; a region that has stopped the job is checked once more. Nothing is kept beside state: the
 * job's stored versions say which regions it has left, and those regions say whether it still runs there. So a new
 * holder asks once more, and it does not matter which process took the registration. Cost: O(jobs) when a term begins;
 * two calls and a timer for each region that a new version has left.
 */
export class DroppedRegions {
  private readonly departures = new Map<string, Departure>();

  constructor(private readonly deps: DroppedRegionsDeps) {}

  checkAllJobs(): void {
    for (const job of this.deps.watching.tables.jobs.all()) this.checkVersion(job);
  }

  /** Checks a version that is new here, or whose departures may not have been carried out. */
  checkVersion(job: Job): void {
    const { regions, watching } = this.deps;
    if (regionsOf(job)[0]?.Name !== regions.own) return;
    for (const region of regionsLeft(watching.tables, job)) {
      const key = JSON.stringify([job.Namespace, job.ID, region]);
      this.departures.get(key)?.cancelTimer?.();
      const departure: Departure = { job, region };
      this.departures.set(key, departure);
      void this.checkDeparture(key, departure, FIRST_DROP_RETRY_MS);
    }
  }

  stop(): void {
    for (const { cancelTimer } of this.departures.values()) cancelTimer?.();
    this.departures.clear();
  }

  private async checkDeparture(key: string, departure: Departure, pauseMs: number): Promise<void> {
    const { job, region } = departure;
    const { logger, timers } = this.deps.watching;
    const isWanted = (): boolean => this.departures.get(key) === departure;
    const later = (delayMs: number, nextPauseMs: number): void => {
      departure.cancelTimer = timers.after(delayMs, () => void this.checkDeparture(key, departure, nextPauseMs));
    };
    try {
      await this.stopDepartedJob(departure);
      if (!isWanted()) return;
      if (departure.isLastLook) return void this.departures.delete(key);
      departure.isLastLook = true;
      later(LATE_REGISTRATION_MS, FIRST_DROP_RETRY_MS);
    } catch (error) {
      if (!isWanted()) return;
      logger.warn('a region that a job does not list any more has not stopped it yet', { region, job: job.ID, error });
      later(pauseMs, Math.min(pauseMs * 2, MAX_DROP_RETRY_MS));
    }
  }

  /**
   * Stops the job in the region, if it is there and belongs to this rollout. @throws any error of the region, or that
   * it cannot be reached
   */
  private async stopDepartedJob({ job, region }: Departure): Promise<void> {
    const { contacts, regions, watching } = this.deps;
    const { Namespace, ID } = job;
    const { Job: there } = await contacts.callPeer(region, jobInThatRegion, { Namespace, ID });
    const isOurs = there && regionsOf(there).some(({ Name }) => Name === regions.own);
    // It is gone, or was registered there separately since.
    if (!isOurs || there.Stop || there.Version > job.Version) return;
    const Reason = `region ${region} is not listed any more`;
    const For = { Actor: serviceActor('deployments'), Reason, RequestID: watching.newId() };
    const wanted = { Namespace, ID, Purge: false, EvalPriority: 0, NoShutdownDelay: false, For };
    await contacts.callPeer(region, deregisterInRegion, wanted);
  }
}

/** Regions that a former version of the job lists and its current version does not, sorted. O(its versions). */
function regionsLeft(tables: Tables, job: Job): string[] {
  const listed = new Set(regionsOf(job).map(({ Name }) => Name));
  const former = [...tables.job_version.by('job', namespacedKey(job.Namespace, job.ID))].filter(
    (one) => one.CreateIndex === job.CreateIndex && one.Version < job.Version && isMultiregion(one),
  );
  const names = new Set(former.flatMap((one) => regionsOf(one)).map(({ Name }) => Name));
  return [...names].filter((name) => !listed.has(name)).toSorted();
}
