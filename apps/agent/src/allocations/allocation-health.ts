import { type Allocation, type Clock, findTaskGroup, rfc3339FromMs, type Timers } from '@waybill/model';
import type { AllocRecord } from './records/allocation-record.js';
import { healthOf, jobOf } from './allocation-report.js';
import { type Health, healthTermsOf, HealthWatch, type Watched } from './health-watch.js';

export interface AllocHealthDependencies {
  readonly clock: Clock;
  readonly timers: Timers;
  readonly watched: () => Watched;
  /** Judged; an unhealthy one of a deployment with an event for each responsible task (AG-128). */
  readonly judged: (events: Readonly<Record<string, string>>) => void;
}

/**
 * The health of one allocation: set once, by a watch (health-watch.ts) or by the servers, and begun anew only when the
 * allocation comes into another deployment (AG-122, AG-129). unset → watched → set; unset: nobody watches it.
 */
export class AllocHealth {
  private watch: HealthWatch | null = null;
  private health: AllocRecord['health'];

  constructor(
    private readonly deps: AllocHealthDependencies,
    given: AllocRecord['health'],
  ) {
    this.health = given;
  }

  get value(): AllocRecord['health'] {
    return this.health;
  }

  /** AG-129: what an update of the servers says of it. */
  update(alloc: Allocation, deploymentBefore: string): void {
    this.health = alloc.DeploymentID === deploymentBefore ? (this.health ?? healthOf(alloc)) : null;
  }

  /** AG-76: an allocation of a deployment that failed before it was judged. */
  failed(): void {
    this.health ??= { Healthy: false, Timestamp: this.now() };
  }

  /** AG-120, AG-121, AG-129: begins from the beginning, if there is anything to judge. */
  begin(alloc: Allocation): void {
    this.stop();
    const inDeployment = alloc.DeploymentID !== '';
    const job = jobOf(alloc);
    const group = findTaskGroup(job, alloc.TaskGroup);
    const terms = group && healthTermsOf(group, job.Type, inDeployment);
    if (!terms || this.health !== null) return;
    const { watched, clock, timers } = this.deps;
    this.watch = new HealthWatch(terms, watched, clock, timers, (health) => this.decided(health, inDeployment));
    this.watch.look();
  }

  look(): void {
    this.watch?.look();
  }

  /** AG-127. */
  stop(): void {
    this.watch?.stop();
    this.watch = null;
  }

  private decided({ healthy, because }: Health, inDeployment: boolean): void {
    this.health = { Healthy: healthy, Timestamp: this.now() };
    this.deps.judged(inDeployment ? because : {});
  }

  private now(): string {
    return rfc3339FromMs(this.deps.clock.nowMs());
  }
}
