import { Refusal } from '@waybill/model';
import type { Author } from '@waybill/writing';
import type { HolderWriter } from '@waybill/roles';
import type { VolumeTurns } from '../releases/volume-turns.js';

/** The volumes that a request names. */
export interface NamedVolumes {
  readonly namespace: string;
  readonly ids: readonly string[];
}

/**
 * Removes volumes from the state and leaves their disks (3.7). The state machine decides which volumes may be removed
 * (VL-52, VL-54 to VL-56).
 */
export class DeregisterCommand {
  constructor(
    private readonly writer: HolderWriter,
    private readonly turns: VolumeTurns,
  ) {}

  /** Resolves with the index of the transaction. @throws Refusal */
  deregisterVolumes({ namespace, ids }: NamedVolumes, force: boolean, by: Partial<Author>): Promise<number> {
    if (ids.length === 0) throw new Refusal('invalid', 'missing volume IDs');
    return this.turns.runInTurns(namespace, ids, () =>
      this.writer.write('CSIVolumeDeregister', { VolumeIDs: [...ids], Force: force }, namespace, by),
    );
  }
}
