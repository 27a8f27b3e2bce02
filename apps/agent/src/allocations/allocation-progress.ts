import {
  type Allocation,
  type ClientAllocUpdate,
  isClientTerminal,
  rfc3339FromMs,
  type TaskGroup,
} from '@waybill/model';
import type { AllocStorage } from '../volumes/csi/allocation-storage.js';
import type { AllocRecord } from './records/allocation-record.js';
import type { AllocServices } from '../services/allocation-services.js';
import type { TaskCrew } from '../tasks/task-crew.js';
import type { AllocHealth } from './allocation-health.js';
import type { AllocHost } from './allocation-host.js';
import { networkStatusOf } from './allocation-report.js';
import { type AllocStatus, statusOfTasks, withEnds } from './allocation-status.js';
import { EXPIRED } from './allocation-stop.js';

/** What an allocation consists of. */
export interface AllocParts {
  readonly alloc: () => Allocation;
  /** As the servers want it now. */
  readonly group: () => TaskGroup;
  readonly crew: TaskCrew;
  readonly health: AllocHealth;
  readonly services: AllocServices;
  readonly storage: AllocStorage;
  /** AG-77: its time was over. */
  readonly isExpired: () => boolean;
}

/**
 * What is kept of an allocation on disk, and what the servers are told of it; always in this order (AG-191).
 *
 * told → silent → gone. silent: the agent puts it down on its way out, it is kept and not told. gone: it is being removed,
 * nothing is written any more. Cost of a change: O(tasks of the group) and one write of its record.
 */
export class AllocProgress {
  private mode: 'told' | 'silent' | 'gone' = 'told';

  constructor(
    private readonly host: Pick<AllocHost, 'records' | 'report' | 'clock' | 'logger'>,
    private readonly parts: AllocParts,
    private acknowledged: ClientAllocUpdate | null,
  ) {}

  get isTold(): boolean {
    return this.mode === 'told';
  }

  get isSilent(): boolean {
    return this.mode === 'silent';
  }

  /** The last state that the servers have confirmed. */
  get lastAcknowledged(): ClientAllocUpdate | null {
    return this.acknowledged;
  }

  /** AG-65. */
  acknowledge(update: ClientAllocUpdate): void {
    this.acknowledged = update;
    if (this.isTold) void this.save();
  }

  silence(): void {
    this.mode = 'silent';
  }

  forget(): void {
    this.mode = 'gone';
  }

  status(): AllocStatus {
    const { crew, isExpired } = this.parts;
    if (isExpired() && crew.isDead) return { ClientStatus: 'complete', ClientDescription: EXPIRED };
    return statusOfTasks(crew.states());
  }

  /** Its state as the servers are told it. */
  report(): ClientAllocUpdate {
    const { crew, health, group } = this.parts;
    const alloc = this.parts.alloc();
    const status = this.status();
    if (status.ClientStatus === 'failed' && alloc.DeploymentID !== '') health.failed();
    return {
      ID: alloc.ID,
      NodeID: alloc.NodeID,
      ...status,
      TaskStates: withEnds(crew.states(), status.ClientStatus, rfc3339FromMs(this.host.clock.nowMs())),
      DeploymentStatus: health.value,
      NetworkStatus: networkStatusOf(alloc, group()),
      ModifyTime: 0,
    };
  }

  get isClientTerminal(): boolean {
    return isClientTerminal(this.status());
  }

  /** @param trace of what led to this state */
  async tell(trace: string | undefined): Promise<void> {
    if (!this.isTold) return;
    await this.save();
    if (this.isTold) this.host.report(this.report(), trace);
  }

  /** AG-204: a failed write is visible and stops nothing. */
  async save(): Promise<void> {
    if (this.mode === 'gone') return;
    try {
      await this.host.records.save(this.record());
    } catch (error) {
      this.host.logger.error(
        'the state of an allocation cannot be written: after a restart of the agent its tasks are lost',
        { alloc: this.parts.alloc().ID, error },
      );
    }
  }

  private record(): AllocRecord {
    const { alloc, crew, health, services, storage, isExpired } = this.parts;
    return {
      version: 1,
      alloc: alloc(),
      tasks: crew.records(),
      health: health.value,
      expired: isExpired(),
      services: services.record(),
      volumes: storage.record(),
      acknowledged: this.acknowledged,
    };
  }
}
