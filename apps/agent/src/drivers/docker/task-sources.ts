import { chmod, readFile, writeFile } from 'node:fs/promises';
import { isIP } from 'node:net';
import { hostsFile, resolvConf } from '../../networks/name-files.js';
import type { TaskNetwork } from '../../networks/task-network.js';
import { insideAlloc } from '../../paths/inside-allocation.store.js';
import { EscapesError } from '../../paths/open-directory.store.js';
import { below } from '../../paths/path-name.js';
import { type TaskConfig, TaskConfigError, type TaskMount } from '../driver.js';
import { dnsOf, relativeSources } from './container-options.js';
import type { DockerConfig } from './docker-config.js';

/** Where what a job mounts of the task's directory is. @throws TaskConfigError when it leads out of the allocation */
export async function foundSources(task: TaskConfig, config: DockerConfig): Promise<Map<string, string>> {
  const found = new Map<string, string>();
  for (const source of relativeSources(config)) {
    try {
      found.set(source, await insideAlloc(task.paths.taskDir, source));
    } catch (error) {
      throw error instanceof EscapesError ? new TaskConfigError(`docker: ${error.message}`) : error;
    }
  }
  return found;
}

/** A user of the container's own may be anybody: what is the task's is open inside, and closed to others on the machine. */
export async function openDirectories({ paths }: TaskConfig): Promise<void> {
  await chmod(paths.taskDir, 0o700);
  await chmod(paths.secretsDir, 0o777);
}

const RESOLV_CONF = '/etc/resolv.conf';
/** As the engine names a container that has no name. */
const SHORT_ID_LENGTH = 12;

/**
 * The files for names of a task in the namespace of its group (NW-91, NW-92). The engine would share those of the pause
 * container, which know neither the address that CNI gave it nor the task's own settings.
 * @throws TaskConfigError for an entry of `extra_hosts` that is none
 */
export async function networkFiles(
  task: TaskConfig,
  config: DockerConfig,
  { network, container }: { readonly network: TaskNetwork; readonly container: string },
): Promise<TaskMount[]> {
  const hostname = network.hostname || container.slice(0, SHORT_ID_LENGTH);
  const hosts = hostsFile(hostname, network.status?.Address ?? '', config.extra_hosts.map(hostEntry));
  const files = [await ownFile(task, 'hosts', hosts, false)];
  const dns = dnsOf(task, config);
  if (!dns) return files;
  const ofMachine = await readFile(RESOLV_CONF, 'utf8').catch(() => '');
  return [...files, await ownFile(task, 'resolv.conf', resolvConf(dns, ofMachine), true)];
}

async function ownFile(
  { paths }: TaskConfig,
  name: 'hosts' | 'resolv.conf',
  text: string,
  readOnly: boolean,
): Promise<TaskMount> {
  const source = below(paths.privateDir, name);
  await writeFile(source, text, { mode: 0o644 });
  return { source, destination: `/etc/${name}`, readOnly, propagation: '' };
}

/** `name:address`, as a line of the file. @throws TaskConfigError */
function hostEntry(entry: string): string {
  const at = entry.indexOf(':');
  const [name, address] = [entry.slice(0, Math.max(at, 0)), entry.slice(at + 1)];
  if (name === '' || /\s/.test(name)) throw new TaskConfigError(`invalid hosts entry "${entry}"`);
  if (isIP(address) === 0) throw new TaskConfigError(`invalid IP address "${address}"`);
  return `${address} ${name}`;
}
