import { closeSync, openSync, readdirSync, readFileSync, readSync } from 'node:fs';
import os from 'node:os';
import type { CpuFacts } from './cpu-speed.js';
import type { CorePlace } from './topology.js';

const CPUS = '/sys/devices/system/cpu';
const NUMA_NODES = '/sys/devices/system/node';

/**
 * Reads what the machine shows about its processors. Values that it does not show are 0 or empty. Cost: some files per
 * core.
 */
export function readCpuFacts(): CpuFacts {
  const cpus = os.cpus();
  return {
    cores: cpus.map((_, core) => ({
      baseMhz: numberIn(`${CPUS}/cpu${core}/cpufreq/base_frequency`) / 1_000,
      maxMhz: numberIn(`${CPUS}/cpu${core}/cpufreq/cpuinfo_max_freq`) / 1_000,
      nominalMhz: numberIn(`${CPUS}/cpu${core}/acpi_cppc/nominal_freq`),
    })),
    cpuinfo: bytesOf('/proc/cpuinfo').toString('utf8'),
    cpuid,
    dmi: bytesOf('/sys/firmware/dmi/tables/DMI'),
    osMhz: Math.max(0, ...cpus.map(({ speed }) => speed)),
  };
}

/** Returns where each core is, in the order of the cores' numbers. Cost: a file and a listing per core. */
export function readCorePlaces(): CorePlace[] {
  return os.cpus().map((_, core) => ({
    socket: Math.max(0, numberIn(`${CPUS}/cpu${core}/topology/physical_package_id`)),
    node: nodesIn(`${CPUS}/cpu${core}`)[0] ?? 0,
  }));
}

/**
 * Returns the distances between NUMA nodes, in the order of the nodes. The list is empty if the machine does not show
 * them.
 */
export function readNumaDistances(): number[][] {
  return nodesIn(NUMA_NODES).map((node) =>
    bytesOf(`${NUMA_NODES}/node${node}/distance`).toString('utf8').trim().split(/\s+/).map(Number),
  );
}

/** Returns the numbers of the entries `node<N>` of a directory, ascending. */
function nodesIn(directory: string): number[] {
  try {
    const names = readdirSync(directory).filter((name) => /^node\d{1,5}$/.test(name));
    return names.map((name) => Number(name.slice('node'.length))).toSorted((a, b) => a - b);
  } catch {
    return []; // the directory does not exist
  }
}

/**
 * Reads a CPUID leaf: 16 bytes at the offset of its number. Returns undefined if the kernel has no such device or the
 * agent may not open it.
 */
function cpuid(leaf: number): readonly [number, number, number, number] | undefined {
  try {
    const device = openSync('/dev/cpu/0/cpuid', 'r');
    try {
      const registers = Buffer.alloc(16);
      if (readSync(device, registers, 0, registers.length, leaf) < registers.length) return undefined;
      const [a, b, c, d] = [0, 4, 8, 12].map((at) => registers.readUInt32LE(at));
      return [a ?? 0, b ?? 0, c ?? 0, d ?? 0];
    } finally {
      closeSync(device);
    }
  } catch {
    return undefined;
  }
}

const numberIn = (file: string): number => Number(bytesOf(file).toString('utf8').trim()) || 0;

function bytesOf(file: string): Buffer {
  try {
    return readFileSync(file);
  } catch {
    return Buffer.alloc(0); // the file does not exist, or the agent may not read it
  }
}
