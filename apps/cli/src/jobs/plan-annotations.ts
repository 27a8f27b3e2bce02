import type { DesiredUpdates } from '@waybill/model';
import { sortedEntries } from '../terminal/sorted-entries.js';
import { table } from '../terminal/table.js';

type Counts = Partial<DesiredUpdates>;

const ALWAYS: readonly (readonly [string, keyof DesiredUpdates])[] = [
  ['Ignore', 'Ignore'],
  ['Place', 'Place'],
  ['Stop', 'Stop'],
  ['InPlace', 'InPlaceUpdate'],
  ['Destructive', 'DestructiveUpdate'],
];
/** Columns that appear only if some group has a value. */
const WHERE_ANY: readonly (readonly [string, keyof DesiredUpdates])[] = [
  ['Migrate', 'Migrate'],
  ['Canary', 'Canary'],
  ['Preemptions', 'Preemptions'],
  ['Reschedule Now', 'RescheduleNow'],
  ['Reschedule Later', 'RescheduleLater'],
  ['Disconnect', 'Disconnect'],
  ['Reconnect', 'Reconnect'],
];

/** Lists the scheduler's decisions for each group (CL-625). */
export function planAnnotationTable(updates: Readonly<Record<string, Counts>>, verbose: boolean): string {
  const groups = sortedEntries(updates);
  const shown = [
    ...ALWAYS,
    ...WHERE_ANY.filter(([, member]) => verbose || groups.some(([, counts]) => (counts[member] ?? 0) > 0)),
  ];
  return table([
    ['Task Group', ...shown.map(([title]) => title)],
    ...groups.map(([name, counts]) => [name, ...shown.map(([, member]) => String(counts[member] ?? 0))]),
  ]);
}
