import { isAlive, type ProcessIdentity, sendSignal } from '@waybill/processes';

/** A task in a namespace of processes leads no group; what is with it there ends with it. */
export function killWithGroup(task: ProcessIdentity): void {
  if (!isAlive(task)) return;
  sendSignal(task.pid, 'SIGKILL');
  sendSignal(task.pid, 'SIGKILL', true);
}
