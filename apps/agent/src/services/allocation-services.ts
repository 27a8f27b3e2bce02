import type { AllocCheckStatus, Clock, Timers } from '@waybill/model';
import type { Logger } from '@waybill/telemetry';
import type { WatchedCheck } from '../allocations/health-watch.js';
import { CheckRestartTerms } from './check-restart.js';
import { CheckRunner, isReadiness } from './check-runner.js';
import type { Probe } from './probe.transport.js';
import { Registrations } from './registrations.js';
import type { ServiceRegistry } from './service-registry.js';
import type { WorkloadCheck, WorkloadService } from './workload-service.js';

/** Longest time for which a kill waits until the removal of the services was tried (AG-142). */
export const MAX_WITHDRAWAL_WAIT_MS = 2_000;

export interface AllocationServicesDependencies {
  readonly allocId: string;
  readonly registry: ServiceRegistry;
  readonly probe: Probe;
  readonly clock: Clock;
  readonly timers: Timers;
  readonly logger: Logger;
  readonly workload: CheckedWorkload;
}

/** The allocation that the checks are of. */
export interface CheckedWorkload {
  /** The status of a check changed. */
  checkChanged(): void;
  /** Since when a task is up, or with an empty name all that are; undefined: none is. */
  upSinceMs(task: string): number | undefined;
  /** A check has failed for too long; with an empty name for all tasks that run (AG-147). */
  restartUnhealthy(task: string, reason: string): void;
}

/** What is kept of them on disk. */
export interface AllocationServicesRecord {
  /** Latest results by ID of the check (AG-146). */
  readonly checks: Readonly<Record<string, AllocCheckStatus>>;
  /** Ids that the servers may know: what is no longer wanted after a restart of the agent is removed. */
  readonly registered: readonly string[];
}

/**
 * The services of one allocation (agent.md section 13): which are registered, and the checks of those.
 *
 * A service is offered while what it belongs to is up: the group's from before its tasks start, a task's while that
 * runs. A check is run while its service is offered; its last result stays. withdrawn: nothing is offered any more.
 * Cost of a look: O(services and checks); memory: one result per check.
 */
export class AllocationServices {
  private readonly registrations: Registrations;
  private readonly running = new Map<string, CheckRunner>();
  private readonly results = new Map<string, AllocCheckStatus>();
  /** Results of an earlier run of the agent that no check has gone on from yet (AG-146). */
  private readonly restored = new Map<string, AllocCheckStatus>();
  private wanted: readonly WorkloadService[] = [];
  private isWithdrawn = false;

  constructor(private readonly deps: AllocationServicesDependencies) {
    this.registrations = new Registrations(deps);
  }

  /** Takes up what an earlier run of the agent has kept; before the first offer. */
  restore({ checks, registered }: AllocationServicesRecord): void {
    this.registrations.restore(registered);
    for (const [id, status] of Object.entries(checks)) {
      this.results.set(id, status);
      this.restored.set(id, status);
    }
  }

  /**
   * @param services all that the job wants; `isUp`: of a task by name, "" the group
   * Resolves when the servers were told, or could not be at first.
   */
  async offer(services: readonly WorkloadService[], isUp: (task: string) => boolean): Promise<void> {
    if (this.isWithdrawn) return;
    this.wanted = services;
    const offered = services.filter(({ task }) => isUp(task));
    this.runChecksOf(offered);
    await this.registrations.want(offered.map(({ registration }) => registration));
  }

  /** Removes all services for good. Resolves after an attempt or a limited time; retries continue (AG-142). */
  async withdraw(): Promise<void> {
    if (this.isWithdrawn) return;
    this.isWithdrawn = true;
    this.runChecksOf([]);
    if (this.wanted.length > 0) await this.briefly(this.registrations.want([]));
  }

  /** Waits a limited time until the servers know of a change. Attempts to tell them continue afterwards (AG-142). */
  briefly(told: Promise<void>): Promise<void> {
    return new Promise((resolve) => {
      const cancel = this.deps.timers.after(MAX_WITHDRAWAL_WAIT_MS, resolve);
      void told.then(() => {
        cancel();
        resolve();
      });
    });
  }

  /** Nothing is looked at or told any more, and what is registered stays. */
  close(): void {
    this.isWithdrawn = true;
    this.runChecksOf([]);
    this.registrations.close();
  }

  /** The last result of every check (AG-146). */
  checks(): Record<string, AllocCheckStatus> {
    for (const [id, { status }] of this.running) this.results.set(id, status);
    return Object.fromEntries(this.results);
  }

  record(): AllocationServicesRecord {
    return { checks: this.checks(), registered: this.registrations.ids };
  }

  /** What the health of the allocation depends on (AG-124, AG-130). */
  watched(): WatchedCheck[] {
    return this.wanted.flatMap(({ checks }) =>
      checks
        .filter(({ spec }) => !isReadiness(spec))
        .map(({ id, service, task }) => {
          const runner = this.running.get(id);
          return { service, task, status: runner?.status.Status, passingSinceMs: runner?.passingSinceMs };
        }),
    );
  }

  private runChecksOf(offered: readonly WorkloadService[]): void {
    const wanted = new Map(offered.flatMap(({ checks }) => checks.map((check) => [check.id, check] as const)));
    for (const [id, runner] of this.running) {
      const check = wanted.get(id);
      if (check && JSON.stringify(check) === JSON.stringify(runner.check)) continue;
      this.results.set(id, runner.status);
      runner.stop();
      this.running.delete(id);
    }
    for (const [id, check] of wanted) {
      if (this.running.has(id)) continue;
      const looked = this.restartsBy(check);
      const changed = () => this.deps.workload.checkChanged();
      this.running.set(id, new CheckRunner(check, { ...this.deps, changed, looked }, this.restored.get(id)));
      this.restored.delete(id);
    }
  }

  /**
   * Returns the function that restarts the check's task once the check has failed for as long as its `check_restart`
   * allows (AG-147).
   */
  private restartsBy({ spec, task }: WorkloadCheck): (passed: boolean) => void {
    const { CheckRestart } = spec;
    if (!CheckRestart || CheckRestart.Limit <= 0) return () => {};
    const terms = new CheckRestartTerms(CheckRestart, spec.Interval);
    const restarted = task || spec.TaskName;
    return (passed) => {
      const { clock, workload } = this.deps;
      if (!terms.isDue(passed, clock.nowMs(), workload.upSinceMs(restarted))) return;
      workload.restartUnhealthy(restarted, `healthcheck: check "${spec.Name}" unhealthy`);
    };
  }
}
