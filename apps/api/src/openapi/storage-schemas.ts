import {
  csiVolumeShape,
  type MountOptions,
  type Topology,
  type TopologyRequest,
  type VolumeCapability,
  type WireCSIVolume,
  wireSchema,
} from '@waybill/model';
import type { ExternalVolume, Snapshot } from '@waybill/rpc';
import * as t from './schema.js';

const topology = t.object<Topology>({ Segments: t.maybeMapOf(t.text) });
const nothing: t.JsonSchema = { type: 'null' };

/** Volumes, and what providers say of theirs. */
export const STORAGE_SCHEMAS: Readonly<Record<string, t.JsonSchema>> = {
  ...wireSchema.schemasOfShape(csiVolumeShape, 'request'),
  CSIVolumes: t.plain({ Volumes: t.listOf(t.ref('CSIVolumeInput')) }),
  CSIVolumesWritten: t.plain({ Volumes: t.listOf(t.ref('CSIVolume')), Warnings: t.text, ...t.QUERY_META }),
  CSIVolume: t.object<WireCSIVolume>({
    ID: t.text,
    Name: t.text,
    ExternalID: t.text,
    Namespace: t.text,
    RequestedTopologies: t.nullable(
      t.object<TopologyRequest>({ Required: t.maybeListOf(topology), Preferred: t.maybeListOf(topology) }),
    ),
    Topologies: t.listOf(topology),
    AccessMode: t.text,
    AttachmentMode: t.text,
    MountOptions: t.object<MountOptions>({ FSType: t.text, MountFlags: t.maybeListOf(t.text) }),
    Secrets: nothing,
    Parameters: t.mapOf(t.text),
    Context: t.mapOf(t.text),
    Capacity: t.int,
    RequestedCapacityMin: t.int,
    RequestedCapacityMax: t.int,
    RequestedCapabilities: t.maybeListOf(t.object<VolumeCapability>({ AttachmentMode: t.text, AccessMode: t.text })),
    CloneID: t.text,
    SnapshotID: t.text,
    ReadAllocs: t.mapOf(nothing),
    WriteAllocs: t.mapOf(nothing),
    Allocations: t.listOf(t.ref('AllocListStub')),
    Schedulable: t.flag,
    PluginID: t.text,
    Provider: t.text,
    ProviderVersion: t.text,
    ControllerRequired: t.flag,
    ControllersHealthy: t.int,
    ControllersExpected: t.int,
    NodesHealthy: t.int,
    NodesExpected: t.int,
    ResourceExhausted: t.time,
    CreateIndex: t.uint,
    ModifyIndex: t.uint,
    CreateTime: t.ns,
    ModifyTime: t.ns,
  }),
  ExternalVolume: t.object<ExternalVolume>({
    ExternalID: t.text,
    CapacityBytes: t.int,
    VolumeContext: t.mapOf(t.text),
    CloneID: t.text,
    SnapshotID: t.text,
    PublishedExternalNodeIDs: t.listOf(t.text),
    IsAbnormal: t.flag,
    Status: t.text,
  }),
  CSISnapshot: t.object<Snapshot>({
    ID: t.text,
    ExternalSourceVolumeID: t.text,
    SizeBytes: t.int,
    CreateTime: t.int,
    IsReady: t.flag,
    SourceVolumeID: t.text,
    PluginID: t.text,
  }),
};
