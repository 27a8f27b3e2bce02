import type { AllocListStub } from '../evaluations/allocation.js';
import type { CSIPlugin } from '../volumes/csi-plugin.js';
import type { WireObject } from './wire-object.js';

/** Encodes a plugin for clients. `allocations` is null if the caller may not read jobs (VL-203). */
export function encodeCSIPlugin(plugin: CSIPlugin, allocations: readonly AllocListStub[] | null): WireObject {
  return { ...plugin, Allocations: allocations };
}

/** Encodes a plugin for the list. */
export function encodeCSIPluginStub(plugin: CSIPlugin): WireObject {
  return {
    ID: plugin.ID,
    Provider: plugin.Provider,
    ControllerRequired: plugin.ControllerRequired,
    ControllersHealthy: plugin.ControllersHealthy,
    ControllersExpected: plugin.ControllersExpected,
    NodesHealthy: plugin.NodesHealthy,
    NodesExpected: plugin.NodesExpected,
    CreateIndex: plugin.CreateIndex,
    ModifyIndex: plugin.ModifyIndex,
  };
}
