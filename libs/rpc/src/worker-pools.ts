import { type Msg, type NatsConnection, NoRespondersError } from '@nats-io/transport-node';
import { CORE_TYPE } from '@waybill/model';

/** Core NATS: asks every scheduler process for its workers, or tells each how many it is to have. */
const SUBJECT = 'waybill.scheduler.pools';
/** Answers are waited for until none has come for this long, ms: a process in the middle of a pass answers after it. */
const STALL_MS = 500;
/** And no longer than this altogether, ms. */
const MAX_WAIT_MS = 5_000;

/** Workers of one process. They share its thread: more of them only hide waiting (EB-228). */
export const MAX_WORKERS = 64;

/** What workers can run: evaluations of these types of job, and housekeeping (GC-12). */
export const KNOWN_SCHEDULERS: readonly string[] = ['service', 'batch', 'system', 'sysbatch', CORE_TYPE];

/** What a worker is told to be (EB-233). */
export type WorkerStatus = 'Starting' | 'Started' | 'Pausing' | 'Paused' | 'Resuming' | 'Stopping' | 'Stopped';
/** What it is doing (EB-233). */
export type WorkloadStatus =
  | 'Running'
  | 'WaitingToDequeue'
  | 'WaitingForRaft'
  | 'Scheduling'
  | 'Submitting'
  | 'Backoff'
  | 'Stopped'
  | 'Paused';

export interface WorkerReport {
  readonly id: string;
  readonly enabledSchedulers: readonly string[];
  readonly startedMs: number;
  readonly status: WorkerStatus;
  readonly workloadStatus: WorkloadStatus;
}

/** The workers of one scheduler process. */
export interface PoolReport {
  readonly instance: string;
  readonly enabledSchedulers: readonly string[];
  readonly workers: readonly WorkerReport[];
}

/** What the workers of all processes are to be. */
export interface PoolChange {
  /** By instance. Who is not named stays as it is. */
  readonly workers: Readonly<Record<string, number>>;
  readonly enabledSchedulers: readonly string[];
}

/** What answers for a process. */
export interface OfferedPool {
  readonly instance: string;
  report(): PoolReport;
  change(workers: number, enabledSchedulers: readonly string[]): void;
}

/** EB-228: whatever else is left out, somebody keeps house. */
export const areSchedulers = (types: readonly string[]): boolean =>
  types.includes(CORE_TYPE) && types.every((type) => KNOWN_SCHEDULERS.includes(type));

/**
 * Each gets as many as the others, the first ones one more where it does not come out even.
 * @returns undefined: more than MAX_WORKERS for each, or nobody to share them
 */
export function sharedOut(workers: number, instances: readonly string[]): Record<string, number> | undefined {
  if (instances.length === 0 || workers > MAX_WORKERS * instances.length) return undefined;
  const each = Math.floor(workers / instances.length);
  const more = workers % instances.length;
  return Object.fromEntries(instances.toSorted().map((instance, at) => [instance, at < more ? each + 1 : each]));
}

/** Answers for the workers of this process. @returns ends it */
export function offerPool(nc: NatsConnection, pool: OfferedPool): () => void {
  const answer = (msg: Msg): void => {
    const change = msg.json<PoolChange | null>();
    const workers = change?.workers[pool.instance];
    if (change && workers === undefined) return;
    if (change && workers !== undefined) pool.change(workers, change.enabledSchedulers);
    msg.respond(JSON.stringify(pool.report()));
  };
  const subscription = nc.subscribe(SUBJECT, { callback: (error, msg) => void (error ?? answer(msg)) });
  return () => subscription.unsubscribe();
}

/** Of every scheduler process that answers in time, by instance. Takes STALL_MS longer than the slowest of them. */
export function gatherPools(nc: NatsConnection): Promise<PoolReport[]> {
  return askForPools(nc, null, { strategy: 'stall', stall: STALL_MS, maxWait: MAX_WAIT_MS });
}

/** @returns what those are now that have heard it within MAX_WAIT_MS; it is for the asker to see that none is missing */
export function changePools(nc: NatsConnection, change: PoolChange): Promise<PoolReport[]> {
  const maxMessages = Object.keys(change.workers).length;
  return askForPools(nc, change, { strategy: 'count', maxMessages, maxWait: MAX_WAIT_MS });
}

async function askForPools(
  nc: NatsConnection,
  change: PoolChange | null,
  options: Parameters<NatsConnection['requestMany']>[2],
): Promise<PoolReport[]> {
  const reports: PoolReport[] = [];
  try {
    for await (const msg of await nc.requestMany(SUBJECT, JSON.stringify(change), options))
      if (msg.data.length > 0) reports.push(msg.json<PoolReport>());
  } catch (error) {
    if (!(error instanceof NoRespondersError)) throw error;
  }
  return reports.toSorted((a, b) => (a.instance < b.instance ? -1 : 1));
}
