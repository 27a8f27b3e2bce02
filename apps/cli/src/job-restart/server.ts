import type { AllocListStub, Deployment, Job } from '@waybill/model';
import type { ApiClient } from '../server/api-client.js';
import { isNotFound } from '../server/api-failure.js';
import type { EvaluationAnswer } from '../evaluations/evaluation-table.js';
import { jobPath } from '../jobs/resolve-job.js';

/** The result of a blocking read, and the index for the next one. */
export interface Seen<T> {
  readonly value: T;
  readonly index: number;
}

export type FollowedAllocation = Pick<AllocListStub, 'ID' | 'ClientStatus' | 'DesiredStatus'> & {
  readonly NextAllocation?: string | null;
};

/** The calls for a job restart. All reject with errors of the API client. */
export interface RestartServer {
  /** Returns every deployment of the job and of earlier jobs with its ID. */
  deployments(): Promise<readonly Pick<Deployment, 'ID' | 'Status'>[]>;
  /** Resolves when the processes have ended and start again. @param task empty for the running tasks, or all tasks */
  restart(alloc: string, task: string, allTasks: boolean): Promise<void>;
  /** @returns the index of the stop */
  stop(alloc: string, noShutdownDelay: boolean): Promise<number>;
  /** Creates an evaluation of the job. */
  evaluate(): Promise<void>;
  /** Whether the job is stopped or no longer exists. */
  isStopped(): Promise<boolean>;
  /** Blocks until there is a newer index than `index`. */
  evaluations(index: number, signal: AbortSignal): Promise<Seen<readonly EvaluationAnswer[]>>;
  /** Blocks until there is a newer index than `index`. 1 returns at once. */
  allocation(id: string, index: number, signal: AbortSignal): Promise<Seen<FollowedAllocation>>;
}

/** The calls over HTTP (JR section 3). @param api client for the job's namespace */
export class RestartApi implements RestartServer {
  constructor(
    private readonly api: ApiClient,
    private readonly jobId: string,
  ) {}

  async deployments(): Promise<readonly Deployment[]> {
    return (await this.api.get<Deployment[] | null>(jobPath(this.jobId, '/deployments'), { all: true })).value ?? [];
  }

  async restart(alloc: string, TaskName: string, AllTasks: boolean): Promise<void> {
    await this.api.put(`/v1/client/allocation/${alloc}/restart`, { TaskName, AllTasks });
  }

  async stop(alloc: string, noShutdownDelay: boolean): Promise<number> {
    const query = noShutdownDelay ? { no_shutdown_delay: true } : {};
    return (await this.api.put(`/v1/allocation/${alloc}/stop`, null, query)).index;
  }

  async evaluate(): Promise<void> {
    const body = { JobID: this.jobId, EvalOptions: { ForceReschedule: true } };
    await this.api.put(jobPath(this.jobId, '/evaluate'), body);
  }

  async isStopped(): Promise<boolean> {
    try {
      return (await this.api.get<Pick<Job, 'Stop'>>(jobPath(this.jobId))).value.Stop;
    } catch (error) {
      if (isNotFound(error)) return true;
      throw error;
    }
  }

  async evaluations(index: number, signal: AbortSignal): Promise<Seen<readonly EvaluationAnswer[]>> {
    const path = jobPath(this.jobId, '/evaluations');
    const answer = await this.api.until(signal).get<EvaluationAnswer[] | null>(path, { index });
    return { value: answer.value ?? [], index: answer.index };
  }

  async allocation(id: string, index: number, signal: AbortSignal): Promise<Seen<FollowedAllocation>> {
    return this.api.until(signal).get<FollowedAllocation>(`/v1/allocation/${id}`, { index });
  }
}
