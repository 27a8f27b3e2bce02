import type { Clock, Task, TaskGroup, Timers } from '@waybill/model';
import type { Logger } from '@waybill/telemetry';
import { AllocationIdentities, type AllocationIdentitiesOptions } from './allocation-identities.js';
import type { IdentitySigner } from './identity-signer.js';
import { wantedIdentities } from './wanted-identities.js';

export interface MachineIdentitiesDependencies {
  readonly signer: IdentitySigner;
  readonly clock: Clock;
  readonly timers: Timers;
  /** Returns a number in [0, 1). */
  readonly random: () => number;
  readonly logger: Logger;
}

/** IdentitiesOwner is the allocation to which the tokens belong. */
export type IdentitiesOwner = Pick<AllocationIdentitiesOptions, 'allocId' | 'index' | 'save'>;

/**
 * MachineIdentities holds the tokens of all allocations of this machine that have any. The allocation's hook opens
 * them, and its tasks' hook reads them.
 */
export class MachineIdentities {
  private readonly allocations = new Map<string, AllocationIdentities>();

  constructor(private readonly deps: MachineIdentitiesDependencies) {}

  /**
   * Opens the tokens of an allocation. The result is undefined if its tasks need none, as most do. The caller closes
   * them.
   * @param interpolate replaces variables in the name of a service of the task, or of the group if there is none
   */
  open(
    owner: IdentitiesOwner,
    group: Pick<TaskGroup, 'Tasks' | 'Services'>,
    interpolate: (name: string, task: Task | null) => string,
  ): AllocationIdentities | undefined {
    const wanted = wantedIdentities(group, interpolate);
    if (wanted.length === 0) return undefined;
    const identities = new AllocationIdentities({ ...this.deps, ...owner, wanted });
    this.allocations.set(owner.allocId, identities);
    return identities;
  }

  of(allocId: string): AllocationIdentities | undefined {
    return this.allocations.get(allocId);
  }

  close(allocId: string): void {
    this.allocations.get(allocId)?.close();
    this.allocations.delete(allocId);
  }
}
