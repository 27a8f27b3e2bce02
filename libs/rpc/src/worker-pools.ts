import { type Msg, type NatsConnection, NoRespondersError } from '@nats-io/transport-node';
import { CORE_TYPE } from '@waybill/model';

/** Core NATS subject that asks every scheduler process for its workers, or sets their number. */
const SUBJECT = 'waybill.scheduler.pools';
/**
 * Responses are awaited until none has arrived for this time, in ms. A process in a scheduling pass answers after it.
 */
const STALL_MS = 500;
/** Longest total wait for responses, in ms. */
const MAX_WAIT_MS = 5_000;

/** Most workers of one process. They share its thread, so more of them only overlap their waits (EB-228). */
export const MAX_WORKERS = 64;

/** Types of evaluations that workers can run: those of jobs, and housekeeping (GC-12). */
export const KNOWN_SCHEDULERS: readonly string[] = ['service', 'batch', 'system', 'sysbatch', CORE_TYPE];

/** Requested state of a worker (EB-233). */
export type WorkerStatus = 'Starting' | 'Started' | 'Pausing' | 'Paused' | 'Resuming' | 'Stopping' | 'Stopped';
/** Present activity of a worker (EB-233). */
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

/** Requested workers of all processes. */
export interface PoolChange {
  /** Number of workers by instance. Other instances stay unchanged. */
  readonly workers: Readonly<Record<string, number>>;
  readonly enabledSchedulers: readonly string[];
}

/** Answers for the workers of one process. */
export interface OfferedPool {
  readonly instance: string;
  report(): PoolReport;
  change(workers: number, enabledSchedulers: readonly string[]): void;
}

/** Whether a list of scheduler types is valid: every type is known, and housekeeping is included (EB-228). */
export const areSchedulers = (types: readonly string[]): boolean =>
  types.includes(CORE_TYPE) && types.every((type) => KNOWN_SCHEDULERS.includes(type));

/**
 * Divides workers evenly. The first instances get one more if the number does not divide evenly.
 * @returns undefined if an instance would get more than MAX_WORKERS, or there are none
 */
export function sharedOut(workers: number, instances: readonly string[]): Record<string, number> | undefined {
  if (instances.length === 0 || workers > MAX_WORKERS * instances.length) return undefined;
  const each = Math.floor(workers / instances.length);
  const more = workers % instances.length;
  return Object.fromEntries(instances.toSorted().map((instance, at) => [instance, at < more ? each + 1 : each]));
}

/** Answers for the workers of this process. @returns a function that stops answering */
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

/**
 * Returns the report of every scheduler process that answers in time. Takes STALL_MS longer than the slowest response.
 */
export function gatherPools(nc: NatsConnection): Promise<PoolReport[]> {
  return askForPools(nc, null, { strategy: 'stall', stall: STALL_MS, maxWait: MAX_WAIT_MS });
}

/** @returns the reports of the processes that answered within MAX_WAIT_MS; the caller checks that none is missing */
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
