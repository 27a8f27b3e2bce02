import { readdir, readFile } from 'node:fs/promises';
import { setTimeout as pause } from 'node:timers/promises';
import { identityOf, isAlive, type ProcessIdentity, sendSignal } from '@waybill/processes';
import type { ExternalPluginPlace } from './external-plugin.transport.js';

/** A program that is killed is given this long to be gone; one that waits for a disk may not be. */
const END_TIMEOUT_MS = 5_000;
const POLL_MS = 20;

/**
 * Ends what an agent that was killed has begun in this plugin: it would go on beside what is asked next of the same
 * volume (VL-290), and may delete what that has made. Known by their command line, `<file> <operation>`, and the
 * directory they were told, so that nothing has to be written down before they start; one that has become another
 * program by `exec` is not found. What has left their process group, as a daemon that serves a volume does, goes on.
 * Cost: one look at every process of the machine.
 * @throws Error when one of them does not end
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
    const identity = identityOf(pid); // before its words are read: they are of this process, or it is gone
    const [program, operation] = (await wordsOf(pid, 'cmdline')).slice(-2);
    if (!identity || program !== file || operation === undefined) continue;
    const told = await wordsOf(pid, 'environ');
    if (told.includes(`DHV_OPERATION=${operation}`) && told.includes(`DHV_VOLUMES_DIR=${volumesDir}`))
      found.push(identity);
  }
  return found;
}

/** Nothing of one that is gone or somebody else's. */
async function wordsOf(pid: number, what: 'cmdline' | 'environ'): Promise<string[]> {
  const text = await readFile(`/proc/${pid}/${what}`, 'utf8').catch(() => '');
  return text.replace(/\0$/, '').split('\0');
}
