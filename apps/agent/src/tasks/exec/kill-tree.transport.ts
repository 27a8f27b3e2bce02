import { sendSignal } from '@waybill/processes';
import { ProcessTables, treeOf } from '../../drivers/process-table.js';

const processes = new ProcessTables();

/**
 * All of its session and what descends from it: an interactive shell gives each of its jobs a group of its own. Where it
 * cannot be looked for, as an agent without descriptors cannot, its group at least.
 */
export async function killTree(pid: number | undefined): Promise<void> {
  if (pid === undefined) return;
  const table = await processes.fresh().catch(() => undefined);
  if (table) for (const member of treeOf(table, pid)) sendSignal(member.pid, 'SIGKILL');
  else for (const isGroup of [true, false]) sendSignal(pid, 'SIGKILL', isGroup);
}
