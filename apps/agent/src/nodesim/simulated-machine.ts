import { createHash } from 'node:crypto';
import { COMPATIBLE_VERSION, type Node, type NodeResources, WAYBILL_VERSION } from '@waybill/model';
import type { DriverFingerprint } from '../drivers/driver.js';
import { loopbackNetworks, MAX_DYNAMIC_PORT, MIN_DYNAMIC_PORT } from '../machine/fingerprint/machine.js';
import { describeNode, NONE_RESERVED } from '../machine/node/node-description.js';
import type { FleetOptions } from './fleet-options.js';

/** Returns the node of machine number `number` of a fleet. The same options always give the same node. */
export function simulatedMachine(
  options: FleetOptions,
  number: number,
  drivers: ReadonlyMap<string, DriverFingerprint>,
  nowMs: number,
): Node {
  const name = `${options.namePrefix}-${number}`;
  return describeNode({
    nodeId: derivedUuid(`${options.seed} ${number} id`),
    secretId: derivedUuid(`${options.seed} ${number} secret`),
    name,
    datacenter: options.datacenters[number % options.datacenters.length] ?? '',
    nodeClass: options.nodeClass,
    nodePool: options.nodePool,
    meta: { simulated: 'true' },
    httpAddr: '',
    tlsEnabled: false,
    attributes: {
      'kernel.name': 'linux',
      'kernel.arch': 'x86_64',
      'os.name': 'simulated',
      'cpu.arch': 'amd64',
      'cpu.totalcompute': String(options.cpuMhz),
      'memory.totalbytes': String(options.memoryMB * 1024 * 1024),
      'unique.hostname': name,
      'nomad.version': COMPATIBLE_VERSION,
      'nomad.service_discovery': 'true',
      'waybill.version': WAYBILL_VERSION,
    },
    resources: resourcesOf(options),
    reserved: NONE_RESERVED,
    drivers,
    nowMs,
  });
}

function resourcesOf({ cpuMhz, memoryMB, diskMB }: FleetOptions): NodeResources {
  return {
    Cpu: { CpuShares: cpuMhz, TotalCpuCores: 1, ReservableCpuCores: [0] },
    Processors: { Topology: null },
    Memory: { MemoryMB: memoryMB },
    Disk: { DiskMB: diskMB },
    Devices: [],
    ...loopbackNetworks(),
    MinDynamicPort: MIN_DYNAMIC_PORT,
    MaxDynamicPort: MAX_DYNAMIC_PORT,
  };
}

/** Returns a UUID that depends only on `text`. */
function derivedUuid(text: string): string {
  const hex = createHash('sha256').update(text).digest('hex');
  return [hex.slice(0, 8), hex.slice(8, 12), `4${hex.slice(13, 16)}`, `8${hex.slice(17, 20)}`, hex.slice(20, 32)].join(
    '-',
  );
}
