import type {
  AllocListStub,
  CSIControllerInfo,
  CSIInfo,
  CSINodeInfo,
  CSIPlugin,
  CSIPluginJob,
  Topology,
} from '@waybill/model';
import * as t from './schema.js';

export const topology = t.object<Topology>({ Segments: t.maybeMapOf(t.text) });

const health = {
  ControllersHealthy: t.int,
  ControllersExpected: t.int,
  NodesHealthy: t.int,
  NodesExpected: t.int,
} as const;

/** The jobs by namespace and ID. */
const jobs = t.mapOf(t.mapOf(t.object<CSIPluginJob>({ Namespace: t.text, ID: t.text, Expected: t.int })));

/** The schemas of CSI plugins, and of the reports of their instances. */
export const PLUGIN_SCHEMAS: Readonly<Record<string, t.JsonSchema>> = {
  CSIPlugin: t.object<CSIPlugin & { readonly Allocations: readonly AllocListStub[] | null }>({
    ID: t.text,
    Provider: t.text,
    Version: t.text,
    ControllerRequired: t.flag,
    Controllers: t.mapById(t.ref('CSIInfo')),
    Nodes: t.mapById(t.ref('CSIInfo')),
    Allocations: t.maybeListOf(t.ref('AllocListStub')),
    ControllerJobs: jobs,
    NodeJobs: jobs,
    ...health,
    CreateIndex: t.uint,
    ModifyIndex: t.uint,
    CreateTime: t.ns,
    ModifyTime: t.ns,
  }),
  CSIPluginListStub: t.plain({
    ID: t.text,
    Provider: t.text,
    ControllerRequired: t.flag,
    ...health,
    CreateIndex: t.uint,
    ModifyIndex: t.uint,
  }),
  CSIInfo: t.object<CSIInfo>(
    {
      PluginID: t.text,
      AllocID: t.text,
      Healthy: t.flag,
      HealthDescription: t.text,
      UpdateTime: t.time,
      Provider: t.text,
      ProviderVersion: t.text,
      RequiresControllerPlugin: t.flag,
      RequiresTopologies: t.flag,
      ControllerInfo: t.object<CSIControllerInfo>({
        SupportsCreateDelete: t.flag,
        SupportsAttachDetach: t.flag,
        SupportsListVolumes: t.flag,
        SupportsGetCapacity: t.flag,
        SupportsCreateDeleteSnapshot: t.flag,
        SupportsListSnapshots: t.flag,
        SupportsClone: t.flag,
        SupportsReadOnlyAttach: t.flag,
        SupportsExpand: t.flag,
        SupportsListVolumesAttachedNodes: t.flag,
        SupportsCondition: t.flag,
        SupportsGet: t.flag,
      }),
      NodeInfo: t.object<CSINodeInfo>({
        ID: t.text,
        MaxVolumes: t.int,
        AccessibleTopology: t.nullable(topology),
        RequiresNodeStageVolume: t.flag,
        SupportsStats: t.flag,
        SupportsExpand: t.flag,
        SupportsCondition: t.flag,
      }),
    },
    ['ControllerInfo', 'NodeInfo'],
  ),
  CSIVolListStub: t.plain({
    ID: t.text,
    Namespace: t.text,
    Name: t.text,
    ExternalID: t.text,
    Topologies: t.listOf(topology),
    AccessMode: t.text,
    AttachmentMode: t.text,
    CurrentReaders: t.int,
    CurrentWriters: t.int,
    Schedulable: t.flag,
    PluginID: t.text,
    Provider: t.text,
    ControllerRequired: t.flag,
    ...health,
    ResourceExhausted: t.time,
    CreateIndex: t.uint,
    ModifyIndex: t.uint,
    CreateTime: t.ns,
    ModifyTime: t.ns,
  }),
};
