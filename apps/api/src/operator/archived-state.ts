import { ARCHIVED_TABLES, type ArchivedTables, StateMachine, type TableName, type TableRows } from '@waybill/state';

/**
 * Returns the state of an archive as of an index of this log. The archive does not contain who holds which role
 * (OP-44).
 */
export function machineOf(tables: ArchivedTables, leases: readonly TableRows['leases'][], index: number): StateMachine {
  const machine = new StateMachine();
  for (const name of ARCHIVED_TABLES) fillTable(machine, name, tables[name] ?? [], index);
  fillTable(machine, 'leases', leases, index);
  machine.startAt(index);
  return machine;
}

function fillTable(machine: StateMachine, name: TableName, rows: readonly object[], index: number): void {
  const table = machine.tables[name];
  for (const row of rows) table.replace(table.keyOf(row as never), row as never);
  table.tableIndex = index;
}
