import { readFile } from 'node:fs/promises';

/** Reads a setting of the kernel by its path below `/proc/sys`. Undefined: this kernel does not have it. */
export type ReadKernelSetting = (name: string) => Promise<string | undefined>;

/** The settings that bridged networks need, and what does not work while one of them is 0 (NW-85). */
const NEEDED: Readonly<Record<string, string>> = {
  'net/ipv4/ip_forward': 'no packet passes between tasks in bridged networks and other machines',
  'net/bridge/bridge-nf-call-iptables': 'port mappings do not apply between tasks in bridged networks on this machine',
};

/** Returns a warning for each setting that is off. A setting that the kernel does not have gives none. */
export async function forwardingWarnings(read: ReadKernelSetting): Promise<string[]> {
  const warnings = await Promise.all(
    Object.entries(NEEDED).map(async ([name, effect]) =>
      (await read(name))?.trim() === '0' ? [`${name.replaceAll('/', '.')} is 0: ${effect}`] : [],
    ),
  );
  return warnings.flat();
}

export const readKernelSetting: ReadKernelSetting = async (name) => {
  try {
    return await readFile(`/proc/sys/${name}`, 'utf8');
  } catch {
    return undefined; // the module of bridges is loaded with the first bridge, on some kernels never
  }
};
