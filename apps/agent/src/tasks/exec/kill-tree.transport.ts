import { sendSignal } from '@waybill/processes';
import { ProcessTables, treeOf } from '../../drivers/process-table.js';

const processes = new ProcessTables();

/**
 * Kills a process with its whole session and all descendants, because an interactive shell gives each of its jobs a
 * process group. If the process table cannot be read, for instance without free descriptors, it kills at least the
 * process's group.
 */
export async function killTree(pid: number | undefined): Promise<void> {
  if (pid === undefined) return;
  const table = await processes.fresh().catch(() => undefined);
  if (table) for (const member of treeOf(table, pid)) sendSignal(member.pid, 'SIGKILL');
  else for (const isGroup of [true, false]) sendSignal(pid, 'SIGKILL', isGroup);
}
