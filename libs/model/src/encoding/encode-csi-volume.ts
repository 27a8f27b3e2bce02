import type { AllocListStub } from '../evaluations/allocation.js';
import type { CSIPlugin, Topology } from '../volumes/csi-plugin.js';
import { type CSIVolume, isSchedulable } from '../volumes/csi-volume.js';
import type { MountOptions } from '../jobs/volume.js';
import type { WireObject } from './wire-object.js';

/** Stands for mount flags: they may hold a password (VL-2). */
const REDACTED = '[REDACTED]';

/** What an answer says of a volume because of its plugin (VL-63 to VL-65). */
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

/** A volume as clients see it. */
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
 * A volume as clients see it, on a copy (VL-3): secrets and claims left out, mount flags hidden, its plugin's health
 * filled in. Empty lists and maps are never null (2.1).
 * @param plugin undefined: there is no record of it (VL-64)
 * @param allocations those that hold claims and still exist, readers first (VL-71)
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

/** A row of the volume list: no secrets, no claims. */
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

/** Who holds a claim, in the order in which answers show their allocations: readers first, each once. */
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
