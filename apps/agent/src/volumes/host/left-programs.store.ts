import { readdir, readFile } from 'node:fs/promises';
import { setTimeout as pause } from 'node:timers/promises';
import { identityOf, isAlive, type ProcessIdentity, sendSignal } from '@waybill/processes';
import type { ExternalPluginPlace } from './external-plugin.transport.js';

/** The longest wait in milliseconds for a killed program. A program that waits for a disk may take longer. */
const END_TIMEOUT_MS = 5_000;
const POLL_MS = 20;

/**
 * Ends the programs of this plugin that a killed agent started. Otherwise they would continue beside the next operation
 * on the same volume (VL-290), and may delete its result. They are recognised by their command line, `<file>
 * <operation>`, and by the directory in their environment, so nothing has to be recorded before their start. A program
 * that became another one by `exec` is not found. A process that left the program's process group, such as a daemon
 * that serves a volume, continues. Cost: one look at every process of the machine.
 * @throws Error if one of them does not end
 */
export async function endLeftPrograms(place: Pick<ExternalPluginPlace, 'file' | 'volumesDir'>): Promise<void> {
  const left = await leftPrograms(place);
  for (const { pid } of left) sendSignal(pid, 'SIGKILL', true);
  const deadline = performance.now() + END_TIMEOUT_MS;
  for (const program of left) {
    while (isAlive(program)) {
      if (performance.now() > deadline)
        throw new Error(`process ${program.pid}, begun by an earlier agent, does not end`);
      await pause(POLL_MS);
    }
  }
}

async function leftPrograms({
  file,
  volumesDir,
}: Pick<ExternalPluginPlace, 'file' | 'volumesDir'>): Promise<ProcessIdentity[]> {
  const found: ProcessIdentity[] = [];
  for (const name of await readdir('/proc').catch(() => [])) {
    const pid = Number(name);
    if (!Number.isInteger(pid)) continue;
    const identity = identityOf(pid); // read before the words, so the words belong to this process or the process is gone
    const [program, operation] = (await wordsOf(pid, 'cmdline')).slice(-2);
    if (!identity || program !== file || operation === undefined) continue;
    const told = await wordsOf(pid, 'environ');
    if (told.includes(`DHV_OPERATION=${operation}`) && told.includes(`DHV_VOLUMES_DIR=${volumesDir}`))
      found.push(identity);
  }
  return found;
}

/** Returns the words of a process. The list has no words for a process that is gone or not readable. */
async function wordsOf(pid: number, what: 'cmdline' | 'environ'): Promise<string[]> {
  const text = await readFile(`/proc/${pid}/${what}`, 'utf8').catch(() => '');
  return text.replace(/\0$/, '').split('\0');
}
