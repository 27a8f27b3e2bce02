import { accessSync, constants } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import path from 'node:path';
import { type Mount, readMounts } from '../../allocations/disk/mount-table.store.js';
import { StartError } from '../driver.js';
import type { CgroupOverride } from '../supervised/supervised-driver.js';
import type { RawExecConfig } from '@waybill/plugins';
import { below, belowAsText } from '../../paths/path-name.js';

/**
 * Returns the cgroups that a job chose for its task instead of the agent's (AG-271). People made them, so they stay
 * when the task has ended. In version 2 a process is in only one cgroup. The task is then in none of the agent's, and
 * processes that leave its process group survive it.
 * @throws StartError if the machine has no such cgroup or the agent may not write to it
 */
export async function chosenCgroups({ cgroupV1, cgroupV2 }: RawExecConfig): Promise<CgroupOverride | undefined> {
  if (cgroupV2 === undefined && cgroupV1.length === 0) return undefined;
  const mounted = await readMounts();
  const chosen =
    cgroupV2 === undefined
      ? cgroupV1.map(([controller, inside]) => fileOf(mounted.find(isTreeOf(controller)), controller, inside))
      : [
          fileOf(
            mounted.find(({ type }) => type === 'cgroup2'),
            'cgroup2',
            cgroupV2,
          ),
        ];
  return {
    insteadOfOwn: cgroupV2 !== undefined,
    place: async (pid) => {
      for (const file of chosen) await writeFile(file, String(pid));
    },
  };
}

const isTreeOf =
  (controller: string) =>
  ({ type, options }: Mount): boolean =>
    type === 'cgroup' && options.includes(controller);

/** @throws StartError */
function fileOf(tree: Mount | undefined, name: string, inside: string): string {
  if (!tree) throw new StartError(`cgroup override: no file system of ${name} is mounted on this machine`);
  const file = below(belowAsText(tree.point, path.normalize(`/${inside}`)), 'cgroup.procs');
  try {
    accessSync(file, constants.W_OK);
    return file;
  } catch {
    throw new StartError(`cgroup override: "${inside}" is no cgroup of ${name} that this agent can use`);
  }
}
