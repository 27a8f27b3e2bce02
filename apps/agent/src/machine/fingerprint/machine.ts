import { readFileSync } from 'node:fs';
import os from 'node:os';
import { COMPATIBLE_VERSION, type HostNetwork, type NodeResources, WAYBILL_VERSION } from '@waybill/model';
import { readCgroupFacts } from './cgroup-facts.store.js';
import { type CgroupLimits, cgroupLimits, type Limit } from './cgroup-limits.js';
import { readCorePlaces, readCpuFacts, readNumaDistances } from './cpu-facts.store.js';
import { type CpuSpeed, cpuSpeed } from './cpu-speed.js';
import { hostNetworksOf, type MachineAddress } from './host-networks.js';
import { diskOf } from './host-sample.js';
import { numaAttributes, topologyOf } from './topology.js';

/** The default range of dynamic ports, both ends included (AG-20). Settings may name another range. */
export const MIN_DYNAMIC_PORT = 20_000;
export const MAX_DYNAMIC_PORT = 32_000;
const NETWORK_SPEED_MBITS = 1_000;
const MB = 1024 * 1024;

export interface Machine {
  readonly hostname: string;
  readonly attributes: Readonly<Record<string, string>>;
  readonly resources: NodeResources;
}

/** MachineOverrides are settings that replace what the agent finds (AG-20); 0 and empty mean 'as found'. */
export interface MachineOverrides {
  readonly cpuTotalMhz: number;
  readonly memoryTotalMb: number;
  readonly diskTotalMb: number;
  readonly networkInterface: string;
  readonly networkSpeedMbits: number;
  /** Named sets of the machine's addresses (NW-73). */
  readonly hostNetworks: readonly HostNetwork[];
  readonly dynamicPorts: readonly [first: number, last: number];
}

export const AS_FOUND: MachineOverrides = {
  cpuTotalMhz: 0,
  memoryTotalMb: 0,
  diskTotalMb: 0,
  networkInterface: '',
  networkSpeedMbits: NETWORK_SPEED_MBITS,
  hostNetworks: [],
  dynamicPorts: [MIN_DYNAMIC_PORT, MAX_DYNAMIC_PORT],
};

/** NoInterfaceError says that the network interface that the settings name does not exist. */
export class NoInterfaceError extends Error {
  override readonly name = 'NoInterfaceError';
}

/**
 * Returns the attributes and resources of this machine (agent.md section 4). Systems other than Linux show less.
 * @param dir the directory of allocations
 * @param limits the limits of the cgroup that the agent runs in. Tasks share the cgroup, so the agent offers no more.
 * @throws NoInterfaceError
 */
export async function fingerprintMachine(
  dir: string,
  given: MachineOverrides = AS_FOUND,
  limits: CgroupLimits = cgroupLimits(readCgroupFacts()),
): Promise<Machine> {
  const cpus = os.cpus();
  const speed = cpuSpeed(readCpuFacts());
  const places = readCorePlaces();
  const processors = usableProcessors(cpus.length, speed, limits, given.cpuTotalMhz);
  const memory = usableMemory(os.totalmem(), limits, given.memoryTotalMb);
  const disk = await diskOf(dir);
  const diskTotal = given.diskTotalMb * MB || disk.Size;
  const diskFree = given.diskTotalMb * MB || disk.Available;
  const addresses = addressesOfMachine();
  const usual = usualAddress(given.networkInterface, addresses);
  const release = osRelease();
  const attributes: Record<string, string> = {
    'kernel.name': os.platform(),
    'kernel.version': os.release(),
    'kernel.arch': os.machine(),
    'os.name': release['ID'] ?? os.platform(),
    'os.version': release['VERSION_ID'] ?? os.release(),
    'os.signals': Object.keys(os.constants.signals).toSorted().join(','),
    'os.cgroups.version': cgroupsVersion(),
    'cpu.arch': goArch(os.arch()),
    'cpu.modelname': cpus[0]?.model.trim() ?? '',
    'cpu.frequency': String(Math.max(...speed.mhz)),
    'cpu.numcores': String(processors.cores),
    'cpu.totalcompute': String(processors.mhz),
    'cpu.reservablecores': String(processors.reservable),
    ...numaAttributes(places),
    'waybill.cpu.source': processors.source,
    'memory.totalbytes': String(memory.amount),
    'waybill.memory.source': memory.source,
    'unique.hostname': os.hostname(),
    'unique.storage.volume': disk.Device,
    'unique.storage.bytestotal': String(diskTotal),
    'unique.storage.bytesfree': String(diskFree),
    'waybill.disk.source': given.diskTotalMb > 0 ? 'setting' : 'file system',
    'unique.network.ip-address': usual.address,
    'nomad.version': COMPATIBLE_VERSION,
    'nomad.service_discovery': 'true',
    'waybill.version': WAYBILL_VERSION,
  };
  return {
    hostname: os.hostname(),
    // An attribute without a value is left out (AG-25).
    attributes: Object.fromEntries(Object.entries(attributes).filter(([, value]) => value !== '')),
    resources: {
      Cpu: {
        CpuShares: processors.mhz,
        TotalCpuCores: processors.cores,
        ReservableCpuCores: Array.from({ length: processors.reservable }, (_, core) => core),
      },
      Processors: { Topology: topologyOf(speed, places, readNumaDistances(), processors.overrideMhz) },
      Memory: { MemoryMB: Math.floor(memory.amount / MB) },
      Disk: { DiskMB: Math.floor(diskFree / MB) },
      Devices: [],
      ...hostNetworksOf(addresses, {
        usual,
        speedMbits: given.networkSpeedMbits,
        configured: given.hostNetworks,
      }),
      MinDynamicPort: given.dynamicPorts[0],
      MaxDynamicPort: given.dynamicPorts[1],
    },
  };
}

interface UsableProcessors {
  readonly mhz: number;
  /** MHz that replace the sum over the cores; 0 means that the sum holds. */
  readonly overrideMhz: number;
  readonly cores: number;
  /** The number of cores that tasks may reserve, beginning with the lowest. */
  readonly reservable: number;
  readonly source: string;
}

/**
 * Applies a quota of CPU time and the setting to the processors that were found. The kernel lets tasks spend a quota on
 * any core. A fraction of a processor therefore counts as a shared core, and only whole cores can be reserved.
 */
export function usableProcessors(
  found: number,
  speed: CpuSpeed,
  { cpus: quota }: CgroupLimits,
  settingMhz: number,
): UsableProcessors {
  const sumMhz = speed.mhz.reduce((sum, mhz) => sum + mhz, 0);
  const isBounded = quota !== undefined && quota.amount < found;
  const mhz = isBounded ? Math.floor((sumMhz * quota.amount) / found) : sumMhz;
  const bounded = {
    mhz,
    overrideMhz: isBounded ? mhz : 0,
    cores: isBounded ? Math.max(1, Math.ceil(quota.amount)) : found,
    reservable: isBounded ? Math.floor(quota.amount) : found,
    source: isBounded ? `${speed.source}, ${quota.source}` : speed.source,
  };
  return settingMhz > 0 ? { ...bounded, mhz: settingMhz, overrideMhz: settingMhz, source: 'setting' } : bounded;
}

/** Returns the usable memory in bytes. */
export function usableMemory(found: number, { memoryBytes: limit }: CgroupLimits, settingMb: number): Limit {
  if (settingMb > 0) return { amount: settingMb * MB, source: 'setting' };
  return limit !== undefined && limit.amount < found ? limit : { amount: found, source: 'operating system' };
}

/** Returns all addresses of the machine, in the order of the kernel. */
const addressesOfMachine = (): (MachineAddress & { readonly internal: boolean })[] =>
  Object.entries(os.networkInterfaces()).flatMap(([device, addresses]) =>
    (addresses ?? []).map((address) => ({ device, ...address })),
  );

const LOOPBACK: MachineAddress = { device: 'lo', mac: '', family: 'IPv4', address: '127.0.0.1' };

/**
 * Returns the address of the wanted interface. Without a name it takes the interface of the default route, else the
 * first interface with an external address, because bridges of the machine may come before it. The last choice is the
 * loopback interface. IPv4 comes before IPv6.
 */
function usualAddress(wanted: string, all: ReturnType<typeof addressesOfMachine>): MachineAddress {
  if (wanted !== '') {
    const named = all.filter((a) => a.device === wanted);
    const found = named.find((a) => a.family === 'IPv4') ?? named[0];
    if (!found) throw new NoInterfaceError(`WAYBILL_NETWORK_INTERFACE: there is no interface "${wanted}"`);
    return found;
  }
  const outside = all.filter((a) => !a.internal);
  const device = deviceOfDefaultRoute(readOr('/proc/net/route'));
  const likely = [...outside.filter((a) => a.device === device), ...outside];
  return likely.find((a) => a.family === 'IPv4') ?? likely[0] ?? all[0] ?? LOOPBACK;
}

const EVERYWHERE = '00000000';

/**
 * Returns the interface of the default route with the lowest metric.
 * @param routes the kernel's table of IPv4 routes
 */
export function deviceOfDefaultRoute(routes: string): string | undefined {
  const ways = routes
    .split('\n')
    .map((line) => line.trim().split(/\s+/))
    .filter(([, destination, , , , , , mask]) => destination === EVERYWHERE && mask === EVERYWHERE);
  return ways.toSorted((a, b) => Number(a[6]) - Number(b[6]))[0]?.[0];
}

/** Returns the networks of a machine that has its loopback address only. */
export const loopbackNetworks = (): Pick<NodeResources, 'NodeNetworks' | 'Networks'> =>
  hostNetworksOf([], { usual: LOOPBACK, speedMbits: NETWORK_SPEED_MBITS, configured: [] });

const GO_ARCH: Readonly<Record<string, string>> = { x64: 'amd64', ia32: '386' };
const goArch = (arch: string): string => GO_ARCH[arch] ?? arch;

function cgroupsVersion(): string {
  if (readOr('/sys/fs/cgroup/cgroup.controllers') !== '') return '2';
  return readOr('/proc/cgroups') === '' ? '' : '1';
}

function osRelease(): Record<string, string> {
  return Object.fromEntries(
    readOr('/etc/os-release')
      .split('\n')
      .filter((line) => line.includes('='))
      .map((line) => [line.slice(0, line.indexOf('=')), line.slice(line.indexOf('=') + 1).replaceAll(/["']/g, '')]),
  );
}

function readOr(file: string): string {
  try {
    return readFileSync(file, 'utf8');
  } catch {
    return '';
  }
}
