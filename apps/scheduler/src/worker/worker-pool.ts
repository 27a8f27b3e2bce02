import type { Clock } from '@waybill/model';
import type { OfferedPool, PoolReport, WorkerStatus, WorkloadStatus } from '@waybill/rpc';
import type { Logger } from '@waybill/telemetry';

/** A worker, as the pool uses it. */
export interface PooledWorker {
  readonly status: WorkerStatus;
  readonly workloadStatus: WorkloadStatus;
  start(): void;
  stop(): Promise<void>;
}

interface Member {
  readonly id: string;
  readonly startedMs: number;
  readonly worker: PooledWorker;
}

export interface WorkerPoolDeps {
  readonly hire: (enabledSchedulers: readonly string[]) => PooledWorker;
  readonly newId: () => string;
  readonly clock: Clock;
  readonly logger: Logger;
}

/**
 * The workers of this process (EB-228, EB-229).
 *
 * A changed pool starts new workers at once. Its previous workers dequeue nothing more, finish their evaluations and
 * end; until then there are more workers than configured. A restart of the process restores its own setting, because
 * changes are not stored.
 */
export class WorkerPool implements OfferedPool {
  readonly instance: string;
  private members: readonly Member[] = [];
  private readonly retiring = new Set<Promise<void>>();
  private stopped = false;

  constructor(
    private readonly deps: WorkerPoolDeps,
    private enabledSchedulers: readonly string[],
  ) {
    this.instance = deps.newId();
  }

  /** Starts the workers. A process without workers, or whose workers may schedule no type, logs that (EB-228). */
  start(count: number): void {
    const workers = this.enabledSchedulers.length === 0 ? 0 : count;
    if (workers === 0) this.deps.logger.warn('no workers are configured: this process schedules nothing');
    this.replaceWorkers(workers);
  }

  /**
   * Changes the pool; no-op if it has this form already. @param enabledSchedulers contains at least housekeeping
   * (EB-228)
   */
  change(count: number, enabledSchedulers: readonly string[]): void {
    if (this.stopped || (count === this.members.length && isSameSet(enabledSchedulers, this.enabledSchedulers))) return;
    this.enabledSchedulers = [...enabledSchedulers];
    this.replaceWorkers(count);
  }

  report(): PoolReport {
    const { instance, enabledSchedulers } = this;
    const workers = this.members.map(({ id, startedMs, worker: { status, workloadStatus } }) => {
      return { id, enabledSchedulers, startedMs, status, workloadStatus };
    });
    return { instance, enabledSchedulers, workers };
  }

  /** Resolves when no worker of this process, former pools included, has an evaluation. */
  async stop(): Promise<void> {
    this.stopped = true;
    this.replaceWorkers(0);
    await Promise.all(this.retiring);
  }

  private replaceWorkers(count: number): void {
    const { hire, newId, clock } = this.deps;
    for (const { worker } of this.members) this.retireWorker(worker);
    this.members = Array.from({ length: count }, () => {
      const worker = hire(this.enabledSchedulers);
      return { id: newId(), startedMs: clock.nowMs(), worker };
    });
    for (const { worker } of this.members) worker.start();
  }

  private retireWorker(worker: PooledWorker): void {
    const ended = worker.stop().finally(() => this.retiring.delete(ended));
    this.retiring.add(ended);
  }
}

const isSameSet = (a: readonly string[], b: readonly string[]): boolean =>
  a.length === b.length && a.every((one) => b.includes(one));
