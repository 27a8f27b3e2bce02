import type { AllocatedDevice, AllocatedResources, DeviceIndex, NodeDevice, RequestedDevice } from '@waybill/model';
import { affinityFor, isInstanceAllowed, matchedWeight, matchesRequest } from '../feasibility/device-match.js';

/** One device request of one task of a group. */
export interface DeviceAsk {
  readonly task: string;
  readonly request: RequestedDevice;
}

/** Instances for one request, or the reason why there are none (the caller adds `devices: …`). */
export type DeviceOffer =
  | { readonly device: AllocatedDevice; /** Of the request's affinities. */ readonly matchedWeight: number }
  | { readonly error: string };

/**
 * The free healthy instances of the device group that serves the request best, without assigning them (SC-93). Of equal
 * groups the first one. Cost: O(device groups × constraints + instances).
 */
export function offerDevice(devices: readonly NodeDevice[], request: RequestedDevice, index: DeviceIndex): DeviceOffer {
  if (devices.length === 0) return { error: 'no devices available' };
  if (request.Count === 0) return { error: 'invalid request of zero devices' };
  let best: { readonly device: NodeDevice; readonly ids: readonly string[]; readonly affinity: number } | undefined;
  for (const device of devices) {
    if (!matchesRequest(device, request)) continue;
    const ids = index.free(device).filter((id) => isInstanceAllowed(id, request));
    if (ids.length < request.Count) continue;
    const affinity = affinityFor(device, request);
    if (!best || affinity > best.affinity) best = { device, ids, affinity };
  }
  if (!best) return { error: 'no devices match request' };
  const { Vendor, Type, Name } = best.device;
  return {
    device: { Vendor, Type, Name, DeviceIDs: best.ids.slice(0, request.Count) },
    matchedWeight: matchedWeight(best.device, request),
  };
}

/** The resources with the devices of one task's request. */
export function withDevice(resources: AllocatedResources, task: string, device: AllocatedDevice): AllocatedResources {
  const before = resources.Tasks[task];
  if (!before) return resources;
  const Devices = [...(before.Devices ?? []), device];
  return { ...resources, Tasks: { ...resources.Tasks, [task]: { ...before, Devices } } };
}

/**
 * Whether the healthy instances suffice for all requests together, including those in use (SC-92). Here a request may
 * use several groups, unlike in an assignment.
 */
export function hasDevices(devices: readonly NodeDevice[], asks: readonly DeviceAsk[]): boolean {
  const left = new Map(devices.map((device) => [device, device.Instances.filter(({ Healthy }) => Healthy)]));
  return asks.every(({ request }) => {
    let missing = request.Count;
    for (const [device, instances] of left) {
      if (!matchesRequest(device, request)) continue;
      const usable = instances.filter(({ ID }) => isInstanceAllowed(ID, request)).slice(0, missing);
      missing -= usable.length;
      left.set(
        device,
        instances.filter((instance) => !usable.includes(instance)),
      );
    }
    return missing === 0;
  });
}
