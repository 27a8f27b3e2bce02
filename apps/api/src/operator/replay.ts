import type { Follower, Journal } from '@waybill/journal';
import {
  type Applied,
  ARCHIVED_TABLES,
  type ArchivedTables,
  StateMachine,
  type TableName,
  type TableRows,
} from '@waybill/state';

/**
 * Applies the log up to an index that it has; answers what was applied last.
 * @param take gets what was applied, in order, before more is read
 */
export async function replay(
  journal: Pick<Journal, 'follow'>,
  machine: StateMachine,
  to: number,
  take?: (applied: readonly Applied[]) => Promise<void>,
): Promise<Applied | undefined> {
  if (machine.appliedIndex >= to) return undefined;
  let last: Applied | undefined;
  let follower: Follower | undefined;
  await new Promise<void>((resolve, reject) => {
    const following = journal.follow({
      from: machine.appliedIndex + 1,
      onTxns: async (batch) => {
        const applied = batch.filter(({ index }) => index <= to).map((txn) => machine.apply(txn));
        last = applied.at(-1) ?? last;
        if (applied.length > 0) await take?.(applied);
        if (machine.appliedIndex >= to) resolve();
      },
      onError: reject,
    });
    following.then((begun) => (follower = begun), reject);
  });
  await follower?.stop();
  return last;
}

/** The state of an archive, as of an index of this log. Who holds which role is not in it (OP-44). */
export function machineOf(tables: ArchivedTables, leases: readonly TableRows['leases'][], index: number): StateMachine {
  const machine = new StateMachine();
  for (const name of ARCHIVED_TABLES) fill(machine, name, tables[name] ?? [], index);
  fill(machine, 'leases', leases, index);
  machine.startAt(index);
  return machine;
}

function fill(machine: StateMachine, name: TableName, rows: readonly object[], index: number): void {
  const table = machine.tables[name];
  for (const row of rows) table.replace(table.keyOf(row as never), row as never);
  table.tableIndex = index;
}
