import type { AllocListStub } from '../evaluations/allocation.js';
import type { CSIPlugin, Topology } from '../volumes/csi-plugin.js';
import { type CSIVolume, isSchedulable } from '../volumes/csi-volume.js';
import type { MountOptions } from '../jobs/volume.js';
import type { WireObject } from './wire-object.js';

/** Placeholder for mount flags, which may hold a password (VL-2). */
const REDACTED = '[REDACTED]';

/** The members of a response that follow from the volume's plugin (VL-63 to VL-65). */
export interface VolumeHealth {
  Schedulable: boolean;
  Provider: string;
  ProviderVersion: string;
  ControllerRequired: boolean;
  ControllersHealthy: number;
  ControllersExpected: number;
  NodesHealthy: number;
  NodesExpected: number;
}

/** A volume in the form for clients. */
export interface WireCSIVolume extends Omit<CSIVolume, 'ReadClaims' | 'WriteClaims' | 'PastClaims'>, VolumeHealth {
  Topologies: Topology[];
  MountOptions: MountOptions;
  Secrets: null;
  /** By ID of the allocation. */
  ReadAllocs: Record<string, null>;
  WriteAllocs: Record<string, null>;
  Allocations: readonly AllocListStub[];
}

/**
 * Encodes a copy of a volume for clients (VL-3): secrets and claims are left out, mount flags are hidden, and the
 * health of its plugin is filled in. Empty lists and maps are never null (2.1).
 * @param plugin undefined if there is no record of the plugin (VL-64)
 * @param allocations the existing allocations that hold claims, readers first (VL-71)
 */
export function encodeCSIVolume(
  volume: CSIVolume,
  plugin: CSIPlugin | undefined,
  allocations: readonly AllocListStub[] = [],
): WireCSIVolume {
  const { ReadClaims, WriteClaims, PastClaims: _, ...shown } = volume;
  return {
    ...shown,
    Secrets: null,
    Topologies: volume.Topologies ?? [],
    MountOptions: {
      FSType: volume.MountOptions?.FSType ?? '',
      MountFlags: volume.MountOptions?.MountFlags?.length ? [REDACTED] : null,
    },
    Parameters: volume.Parameters ?? {},
    Context: volume.Context ?? {},
    ReadAllocs: holdersOf(ReadClaims),
    WriteAllocs: holdersOf(WriteClaims),
    Allocations: allocations,
    ...volumeHealth(volume, plugin),
  };
}

/** Encodes a volume for the list, without secrets and claims. */
export function encodeCSIVolumeStub(volume: CSIVolume, plugin: CSIPlugin | undefined): WireObject {
  const { ProviderVersion: _, ...health } = volumeHealth(volume, plugin);
  return {
    ID: volume.ID,
    Namespace: volume.Namespace,
    Name: volume.Name,
    ExternalID: volume.ExternalID,
    Topologies: volume.Topologies ?? [],
    AccessMode: volume.AccessMode,
    AttachmentMode: volume.AttachmentMode,
    CurrentReaders: Object.keys(volume.ReadClaims).length,
    CurrentWriters: Object.keys(volume.WriteClaims).length,
    PluginID: volume.PluginID,
    ...health,
    ResourceExhausted: volume.ResourceExhausted,
    CreateIndex: volume.CreateIndex,
    ModifyIndex: volume.ModifyIndex,
    CreateTime: volume.CreateTime,
    ModifyTime: volume.ModifyTime,
  };
}

/**
 * Returns the IDs of the allocations that hold claims, in the order of responses: readers first, without duplicates.
 */
export function claimHoldersOf(volume: Pick<CSIVolume, 'ReadClaims' | 'WriteClaims'>): string[] {
  return [...new Set([...Object.keys(volume.ReadClaims), ...Object.keys(volume.WriteClaims)])];
}

const holdersOf = (claims: Record<string, unknown>): Record<string, null> =>
  Object.fromEntries(Object.keys(claims).map((id) => [id, null]));

function volumeHealth(volume: CSIVolume, plugin: CSIPlugin | undefined): VolumeHealth {
  return {
    Schedulable: isSchedulable(plugin),
    Provider: plugin?.Provider ?? volume.Provider,
    ProviderVersion: plugin?.Version ?? volume.ProviderVersion,
    ControllerRequired: plugin?.ControllerRequired ?? volume.ControllerRequired,
    ControllersHealthy: plugin?.ControllersHealthy ?? 0,
    ControllersExpected: plugin?.ControllersExpected ?? 0,
    NodesHealthy: plugin?.NodesHealthy ?? 0,
    NodesExpected: plugin?.NodesExpected ?? 0,
  };
}
