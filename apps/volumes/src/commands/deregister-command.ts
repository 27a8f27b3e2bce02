import { Refusal } from '@waybill/model';
import type { Author } from '@waybill/writing';
import type { HolderWriter } from '@waybill/roles';
import type { VolumeTurns } from '../releases/volume-turns.js';

/** Which volumes somebody wants gone. */
export interface NamedVolumes {
  readonly namespace: string;
  readonly ids: readonly string[];
}

/** Forgets volumes; their disks stay (3.7). What may go is for the log to decide (VL-52, VL-54 to VL-56). */
export class DeregisterCommand {
  constructor(
    private readonly writer: HolderWriter,
    private readonly turns: VolumeTurns,
  ) {}

  /** Resolves with the index. @throws Refusal */
  run({ namespace, ids }: NamedVolumes, force: boolean, by: Partial<Author>): Promise<number> {
    if (ids.length === 0) throw new Refusal('invalid', 'missing volume IDs');
    return this.turns.hold(namespace, ids, () =>
      this.writer.write('CSIVolumeDeregister', { VolumeIDs: [...ids], Force: force }, namespace, by),
    );
  }
}
