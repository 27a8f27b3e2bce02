import type { Machine } from '../world/machine.js';
import type { ReferenceState } from './reference-state.js';
import { isRestore } from './restores.js';

/** Host volumes in the log and directories on machines agree, once nothing happens. */
export class HostVolumeDirectories {
  /** Ids of volumes that a restore, or a log that lost its end, has taken out of the state: nobody can know of their directories (OP-47). */
  private readonly forgotten = new Set<string>();

  constructor(
    private readonly reference: ReferenceState,
    private readonly machines: readonly Machine[],
  ) {
    reference.onApplied((applied) => {
      if (!isRestore(applied)) return;
      for (const { table, before, after } of applied.changes)
        if (table === 'host_volumes' && before && !after) this.forgotten.add(before.ID);
    });
    reference.onLost((lost) => {
      for (const { changes } of lost)
        for (const { table, after } of changes) if (table === 'host_volumes' && after) this.forgotten.add(after.ID);
    });
  }

  /**
   * At rest, in words: a volume that can be used has its directory (VL-289), and there is no directory that the log does
   * not know of. One that is pending may have been made or not: nobody could say. Undefined: all agree.
   */
  stray(): string | undefined {
    const known = new Set(this.forgotten);
    for (const { ID, NodeID, State } of this.reference.machine.tables.host_volumes.all()) {
      known.add(ID);
      if (State !== 'ready') continue;
      const machine = this.machines.find(({ node }) => node.ID === NodeID);
      if (!machine?.volumes.made.has(ID)) return `host volume ${ID} is ready and is not on ${machine?.name ?? NodeID}`;
    }
    for (const { name, volumes } of this.machines)
      for (const id of volumes.made)
        if (!known.has(id)) return `${name} has a directory for ${id}, which nobody knows of`;
    return undefined;
  }
}
