import type { AllocListStub } from '../evaluations/allocation.js';
import type { HostVolume } from '../volumes/host-volume.js';
import type { WireObject } from './wire-object.js';

/** Encodes a dynamic host volume for clients. Constraints, parameters and allocations appear only if there are any. */
export function encodeHostVolume(volume: HostVolume, allocations: readonly AllocListStub[] = []): WireObject {
  const { Constraints, Parameters, ...shown } = volume;
  return {
    ...shown,
    ...(Constraints?.length && { Constraints }),
    ...(Object.keys(Parameters ?? {}).length > 0 && { Parameters }),
    ...(allocations.length > 0 && { Allocations: allocations }),
  };
}

/** Encodes a host volume for the list. */
export function encodeHostVolumeStub(volume: HostVolume): WireObject {
  return {
    Namespace: volume.Namespace,
    ID: volume.ID,
    Name: volume.Name,
    PluginID: volume.PluginID,
    NodePool: volume.NodePool,
    NodeID: volume.NodeID,
    CapacityBytes: volume.CapacityBytes,
    State: volume.State,
    CreateIndex: volume.CreateIndex,
    CreateTime: volume.CreateTime,
    ModifyIndex: volume.ModifyIndex,
    ModifyTime: volume.ModifyTime,
  };
}
