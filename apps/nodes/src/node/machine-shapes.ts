import {
  type ClientAllocUpdate,
  type DriverInfo,
  MAX_OBJECT_ID_BYTES,
  MAX_REGISTRATION_ID_BYTES,
  MAX_SERVICE_TEMPLATE_BYTES,
  nameLengthErrors,
  type Node,
  type NodeEvent,
  type TaskState,
  Refusal,
} from '@waybill/model';
import type { IdentityRequest, RegisteredService } from '@waybill/rpc';
import { z } from 'zod';

// Machines' messages are checked before they are written. A member of a wrong type would throw when the transaction is
// applied, which every copy of the state has to treat as a defect (ST-8), or in every evaluation that reads the node.
// Members that agents of an older release do not send must be optional here; unknown members pass.

const text = z.string();
/** A text that projections index, and that identifies an object: it cannot be truncated. */
const name = (maxBytes: number) =>
  text.refine((value) => nameLengthErrors('', value, maxBytes).length === 0, `more than ${maxBytes} bytes`);
const amount = z.number();
const flag = z.boolean();
/** RFC 3339; an unreadable time counts as never. */
const time = text.nullable();
const texts = z.record(text, text);
const values = z.record(text, z.unknown());

/** Every member that such an object has. */
type Members<T> = Record<keyof T, z.ZodType>;

const CPU = z.looseObject({ CpuShares: amount });
const AMOUNTS = {
  Memory: z.looseObject({ MemoryMB: amount }),
  Disk: z.looseObject({ DiskMB: amount }),
};
const numbers = z.array(amount).nullable();

const NODE_RESOURCES = z.looseObject({
  ...AMOUNTS,
  Cpu: CPU.extend({ TotalCpuCores: amount, ReservableCpuCores: numbers }),
  Processors: z.looseObject({ Topology: values.nullable() }),
  Devices: z
    .array(
      z.looseObject({
        Vendor: text,
        Type: text,
        Name: text,
        Instances: z.array(z.looseObject({ ID: text, Healthy: flag, HealthDescription: text })),
        Attributes: values.nullable(),
      }),
    )
    .nullable(),
  NodeNetworks: z
    .array(
      z.looseObject({
        Mode: text,
        Device: text,
        Addresses: z.array(z.looseObject({ Family: text, Alias: text, Address: text, ReservedPorts: text })).nullable(),
      }),
    )
    .nullable(),
  Networks: z.array(z.looseObject({ Mode: text, Device: text, IP: text })).nullable(),
  MinDynamicPort: amount,
  MaxDynamicPort: amount,
} satisfies Members<Node['NodeResources']>);

const RESERVED_RESOURCES = z.looseObject({
  ...AMOUNTS,
  Cpu: CPU.extend({ ReservedCpuCores: numbers }),
  Networks: z.looseObject({ ReservedHostPorts: text }),
} satisfies Members<Node['ReservedResources']>);

const CSI_PLUGIN = z.looseObject({
  PluginID: text,
  AllocID: text,
  Healthy: flag,
  HealthDescription: text,
  UpdateTime: time,
  Provider: text,
  ProviderVersion: text,
  RequiresControllerPlugin: flag,
  RequiresTopologies: flag,
  ControllerInfo: values.optional(),
  NodeInfo: values.optional(),
} satisfies Members<Node['CSINodePlugins'][string]>);

const NODE_EVENT = z.looseObject({
  Message: text,
  Subsystem: text,
  Details: texts.nullable(),
  Timestamp: time,
  CreateIndex: amount,
} satisfies Members<NodeEvent>);

const NODE = z.looseObject({
  ID: text,
  SecretID: text,
  Datacenter: text,
  Name: text,
  NodeClass: text,
  NodePool: text.optional(),
  HTTPAddr: text,
  TLSEnabled: flag,
  CgroupParent: text,
  Attributes: texts,
  NodeResources: NODE_RESOURCES,
  ReservedResources: RESERVED_RESOURCES,
  Links: texts,
  Meta: texts,
  ComputedClass: text,
  DrainStrategy: values.nullable(),
  SchedulingEligibility: z.enum(['', 'eligible', 'ineligible']).optional(),
  Status: text.optional(),
  StatusDescription: text,
  StatusUpdatedAt: amount,
  IdentitySigningKeyID: text,
  Events: z.array(NODE_EVENT),
  Drivers: z.record(
    text,
    z.looseObject({
      Attributes: texts.nullable(),
      Detected: flag,
      Healthy: flag,
      HealthDescription: text,
      UpdateTime: time,
      TaskConfigSchema: text.optional(),
    } satisfies Members<DriverInfo>),
  ),
  CSIControllerPlugins: z.record(text, CSI_PLUGIN),
  CSINodePlugins: z.record(text, CSI_PLUGIN),
  HostVolumes: z.record(text, z.looseObject({ Name: text, Path: text, ReadOnly: flag, ID: text })),
  GCVolumesOnNodeGC: flag,
  HostNetworks: z.record(text, z.looseObject({ Name: text, CIDR: text, Interface: text, ReservedPorts: text })),
  LastDrain: values.nullable(),
  NodeMaxAllocs: amount,
  LastMissedHeartbeatIndex: amount,
  LastAllocUpdateIndex: amount,
  CreateIndex: amount,
  ModifyIndex: amount,
} satisfies Members<Node>);

const TASK_STATE = z.looseObject({
  State: z.enum(['pending', 'running', 'dead']),
  Failed: flag,
  Restarts: amount,
  LastRestart: time,
  StartedAt: time,
  FinishedAt: time,
  Events: z.array(z.looseObject({ Type: text, Time: amount, Message: text, DisplayMessage: text, Details: texts })),
  Paused: text,
} satisfies Members<TaskState>);

const ALLOC_UPDATE = z.looseObject({
  ID: text,
  NodeID: text,
  // A machine cannot report that it is lost or disconnected.
  ClientStatus: z.enum(['pending', 'running', 'complete', 'failed']),
  ClientDescription: text,
  TaskStates: z.record(text, TASK_STATE),
  NetworkStatus: values.nullable(),
  ModifyTime: amount,
  DeploymentStatus: z.looseObject({ Healthy: flag.nullable(), Timestamp: time }).nullable(),
} satisfies Members<ClientAllocUpdate>);

const SERVICE = z.looseObject({
  ID: name(MAX_REGISTRATION_ID_BYTES),
  ServiceName: name(MAX_SERVICE_TEMPLATE_BYTES),
  Tags: z.array(text).nullable(),
  Address: text,
  Port: amount,
} satisfies Members<RegisteredService>);

/**
 * Makes a check that refuses objects of another shape, with the path to the first wrong member. Cost: O(members); about
 * 10 µs for an allocation.
 */
function checking(what: string, shape: z.ZodType): (sent: unknown) => void {
  return (sent) => {
    const { error } = shape.safeParse(sent);
    const issue = error?.issues[0];
    if (issue) throw new Refusal('invalid', `invalid ${[what, ...issue.path].join('.')}: ${issue.message}`);
  };
}

/** @throws Refusal invalid */
export const checkNode = checking('Node', NODE);
/** @throws Refusal invalid */
export const checkAllocUpdates = checking('Allocs', z.array(ALLOC_UPDATE));
/** Checks that it is a list, before its members are read. @throws Refusal invalid */
export const checkAllocList = checking('Allocs', z.array(z.unknown()).nullish());
/** @throws Refusal invalid */
export const checkAllocIds = checking('AllocIDs', z.array(text));

const IDENTITY_REQUEST = z.looseObject({
  AllocID: text,
  WorkloadType: z.enum(['task', 'service']),
  Workload: text,
  InterpolatedName: text.optional(),
  Identity: text,
} satisfies Members<IdentityRequest>);
export const checkIdentityRequests = checking('Identities', z.array(IDENTITY_REQUEST));
/** @throws Refusal invalid */
export const checkRegistrationIds = checking('IDs', z.array(text));
/** Checks the drain that a machine requests for itself. @throws Refusal invalid */
export const checkSelfDrain = checking(
  'drain',
  z.looseObject({
    RequestID: name(MAX_OBJECT_ID_BYTES),
    DrainSpec: z.looseObject({ Deadline: amount, IgnoreSystemJobs: flag }),
    Meta: texts,
  }),
);
/** @throws Refusal invalid */
export const checkNodeEvents = checking('Events', z.array(NODE_EVENT));
/** @throws Refusal invalid */
export const checkServices = checking('Services', z.array(SERVICE));
