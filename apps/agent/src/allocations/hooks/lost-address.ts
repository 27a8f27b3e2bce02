import type { Allocation } from '@waybill/model';

/** Addresses that every machine has; the empty one stands for all. */
const OWN = /^(127\..*|::1|0\.0\.0\.0|::|)$/;

/**
 * Returns an address of the allocation's ports that is not among the machine's; undefined if the machine has them all. A
 * machine without any address has not lost one: its network is not up yet.
 * @param addresses the machine's addresses except those that it has in itself only
 */
export function lostAddress(
  { AllocatedResources }: Pick<Allocation, 'AllocatedResources'>,
  addresses: readonly string[],
): string | undefined {
  if (addresses.length === 0) return undefined;
  const { Ports, Networks } = AllocatedResources.Shared;
  const ofTasks = Object.values(AllocatedResources.Tasks).flatMap((task) => task.Networks ?? []);
  const networks = [...(Networks ?? []), ...ofTasks];
  const used = [...(Ports ?? []).map(({ HostIP }) => HostIP), ...networks.map(({ IP }) => IP)];
  return used.find((address) => !OWN.test(address) && !addresses.includes(address));
}
