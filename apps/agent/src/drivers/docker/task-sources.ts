import { chmod, type FileHandle, readFile, writeFile } from 'node:fs/promises';
import { isIP } from 'node:net';
import { hostsFile, resolvConf } from '../../networks/name-files.js';
import type { TaskNetwork } from '../../networks/task-network.js';
import { insideAlloc, openToRead } from '../../paths/inside-allocation.store.js';
import { EscapesError } from '../../paths/open-directory.store.js';
import { below } from '../../paths/path-name.js';
import { type TaskConfig, TaskConfigError, type TaskMount } from '../driver.js';
import { dnsOf, relativeSources } from './container-options.js';
import type { DockerConfig } from '@waybill/plugins';

/**
 * Returns the paths on the machine of the relative sources that a job mounts.
 * @throws TaskConfigError if a path leads out of the allocation
 */
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

/**
 * Opens an archive of images in the task's local directory for reading.
 * @throws EscapesError if the path leads out of the allocation, and the file system's errors
 */
export async function openArchive({ paths }: TaskConfig, archive: string): Promise<FileHandle> {
  return openToRead(paths.taskDir, await insideAlloc(paths.taskDir, `local/${archive}`));
}

/**
 * Opens the secrets directory to every user of the container, because the container's user is unknown. The task's
 * directory stays closed to other users of the machine.
 */
export async function openDirectories({ paths }: TaskConfig): Promise<void> {
  await chmod(paths.taskDir, 0o700);
  await chmod(paths.secretsDir, 0o777);
}

const RESOLV_CONF = '/etc/resolv.conf';
/** The length of the short id that the engine uses as a host name by default. */
const SHORT_ID_LENGTH = 12;

/**
 * Writes the `hosts` and `resolv.conf` files of a task in its group's namespace, and returns their mounts (NW-91,
 * NW-92). The engine would share the files of the pause container, which contain neither the address from CNI nor the
 * task's own settings.
 * @throws TaskConfigError for an invalid entry of `extra_hosts`
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

/** Converts `name:address` to a line of the hosts file. @throws TaskConfigError */
function hostEntry(entry: string): string {
  const at = entry.indexOf(':');
  const [name, address] = [entry.slice(0, Math.max(at, 0)), entry.slice(at + 1)];
  if (name === '' || /\s/.test(name)) throw new TaskConfigError(`invalid hosts entry "${entry}"`);
  if (isIP(address) === 0) throw new TaskConfigError(`invalid IP address "${address}"`);
  return `${address} ${name}`;
}
