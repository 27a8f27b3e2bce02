import type { Change } from '@waybill/state';
import { LIE } from '../faults/hostile-machine.js';
import type { ReferenceState } from './reference-state.js';
import type { Report } from './violation.js';

/**
 * What a machine says that was taken over changes nothing of other machines: no allocation of theirs, no service, no node.
 * A lie has the ID of its machine in every text, and is looked for in all rows that change.
 */
export class Lies {
  constructor(reference: ReferenceState, report: Report) {
    reference.onApplied(({ index, txn, changes }) => {
      for (const change of changes) {
        const liar = liarIn(change);
        if (liar !== undefined)
          report(
            'hostile-machine',
            `${txn.type} at index ${index}: ${change.table} ${change.key} has a lie of ${liar}`,
          );
      }
    });
  }
}

/** Whose lie stands in the row of another machine. */
function liarIn({ table, before, after }: Change): string | undefined {
  if (table === 'allocs') return ofAnother(after?.ClientDescription, before?.ClientDescription, after?.NodeID);
  if (table === 'service_registrations') return ofAnother(after?.ID, before?.ID, after?.NodeID);
  if (table !== 'nodes') return undefined;
  const drained = ofAnother(after?.LastDrain?.Meta?.['why'], before?.LastDrain?.Meta?.['why'], after?.ID);
  if (drained !== undefined) return drained;
  const [newest] = after?.Events.slice(-1) ?? [];
  return ofAnother(newest?.Message, before?.Events.at(-1)?.Message, after?.ID);
}

function ofAnother(
  text: string | undefined,
  before: string | undefined,
  nodeId: string | undefined,
): string | undefined {
  if (!text?.startsWith(LIE) || text === before) return undefined;
  const liar = text.slice(LIE.length).split(' ')[0];
  return liar === nodeId ? undefined : liar;
}
