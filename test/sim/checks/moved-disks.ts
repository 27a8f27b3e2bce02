import type { Machine } from '../world/machine.js';
import type { ReferenceState } from './reference-state.js';
import type { Report } from './violation.js';

/** A disk that migrates arrives as the allocation before has left it on its machine, all of it (AG-224). */
export class MovedDisks {
  /** How many have arrived with something on them. */
  count = 0;

  constructor(
    private readonly reference: ReferenceState,
    private readonly machines: readonly Machine[],
    private readonly report: Report,
  ) {
    for (const machine of machines) machine.onDiskMoved((allocId, text) => this.moved(allocId, text));
  }

  private moved(allocId: string, text: string): void {
    const { allocs } = this.reference.machine.tables;
    const previous = allocs.get(allocs.get(allocId)?.PreviousAllocation ?? '');
    if (!previous) return; // collected meanwhile
    const left = this.machines.find(({ node }) => node.ID === previous.NodeID)?.diskOf(previous.ID);
    if (text !== '') this.count++;
    if (left !== undefined && left !== text)
      this.report('disk-moved-whole', `allocation ${allocId} got ${text.length} bytes of ${left.length}`);
  }
}
