import type { AllocCheckStatus, Clock, Timers } from '@waybill/model';
import type { Logger } from '@waybill/telemetry';
import type { WatchedCheck } from '../allocations/health-watch.js';
import { CheckRestartTerms } from './check-restart.js';
import { CheckRunner, isReadiness } from './check-runner.js';
import type { Probe } from './probe.transport.js';
import { Registrations } from './registrations.js';
import type { ServiceRegistry } from './service-registry.js';
import type { WorkloadCheck, WorkloadService } from './workload-service.js';

/** The longest wait in milliseconds of a kill for the first attempt to remove the services (AG-142). */
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

/** CheckedWorkload is the allocation to which the checks belong. */
export interface CheckedWorkload {
  /** Handles a changed status of a check. */
  checkChanged(): void;
  /**
   * Returns the time since which a task is up; with an empty name the latest time of all tasks that are. Undefined if
   * none is.
   */
  upSinceMs(task: string): number | undefined;
  /** Restarts a task whose check has failed for too long; with an empty name all running tasks (AG-147). */
  restartUnhealthy(task: string, reason: string): void;
}

/** AllocationServicesRecord is the state of the services on disk. */
export interface AllocationServicesRecord {
  /** Latest results by ID of the check (AG-146). */
  readonly checks: Readonly<Record<string, AllocCheckStatus>>;
  /** Ids that the servers may know. After a restart of the agent, the unwanted ones are removed. */
  readonly registered: readonly string[];
}

/**
 * AllocationServices are the services of one allocation (agent.md section 13): their registrations and their checks.
 *
 * A service is offered while its owner is up: the group's from before its tasks start, a task's while the task runs. A
 * check runs while its service is offered; its last result stays. withdrawn: nothing is offered any more. Cost of a
 * change: O(services and checks). Memory: one result per check.
 */
export class AllocationServices {
  private readonly registrations: Registrations;
  private readonly running = new Map<string, CheckRunner>();
  private readonly results = new Map<string, AllocCheckStatus>();
  /** Results of an earlier run of the agent that no check has continued from yet (AG-146). */
  private readonly restored = new Map<string, AllocCheckStatus>();
  private wanted: readonly WorkloadService[] = [];
  private isWithdrawn = false;

  constructor(private readonly deps: AllocationServicesDependencies) {
    this.registrations = new Registrations(deps);
  }

  /** Restores the record of an earlier run of the agent. It is called before the first offer. */
  restore({ checks, registered }: AllocationServicesRecord): void {
    this.registrations.restore(registered);
    for (const [id, status] of Object.entries(checks)) {
      this.results.set(id, status);
      this.restored.set(id, status);
    }
  }

  /**
   * Offers services. Resolves after the first attempt to tell the servers, even if it fails.
   * @param services all that the job wants
   * @param isUp says whether a task is up, by name; "" stands for the group
   */
  async registerServices(services: readonly WorkloadService[], isUp: (task: string) => boolean): Promise<void> {
    if (this.isWithdrawn) return;
    this.wanted = services;
    const offered = services.filter(({ task }) => isUp(task));
    this.runChecksOf(offered);
    await this.registrations.setServices(offered.map(({ registration }) => registration));
  }

  /** Removes all services for good. Resolves after an attempt or a limited time; retries continue (AG-142). */
  async deregisterServices(): Promise<void> {
    if (this.isWithdrawn) return;
    this.isWithdrawn = true;
    this.runChecksOf([]);
    if (this.wanted.length > 0) await this.waitBriefly(this.registrations.setServices([]));
  }

  /** Waits a limited time until the servers know of a change. Attempts to tell them continue afterwards (AG-142). */
  waitBriefly(told: Promise<void>): Promise<void> {
    return new Promise((resolve) => {
      const cancel = this.deps.timers.after(MAX_WITHDRAWAL_WAIT_MS, resolve);
      void told.then(() => {
        cancel();
        resolve();
      });
    });
  }

  /** Ends all checks and reports. The registrations stay. */
  close(): void {
    this.isWithdrawn = true;
    this.runChecksOf([]);
    this.registrations.close();
  }

  /** Returns the last result of every check (AG-146). */
  checks(): Record<string, AllocCheckStatus> {
    for (const [id, { status }] of this.running) this.results.set(id, status);
    return Object.fromEntries(this.results);
  }

  record(): AllocationServicesRecord {
    return { checks: this.checks(), registered: this.registrations.ids };
  }

  /** Returns the checks that the health of the allocation depends on (AG-124, AG-130). */
  watchedChecks(): WatchedCheck[] {
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
      const notifyWorkload = () => this.deps.workload.checkChanged();
      this.running.set(
        id,
        new CheckRunner(check, { ...this.deps, changed: notifyWorkload, reportOutcome: looked }, this.restored.get(id)),
      );
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
