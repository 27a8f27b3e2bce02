import { isSignedToken } from '@waybill/keyring';
import {
  type ClientAllocUpdate,
  cutText,
  cutValues,
  MAX_DATACENTER_BYTES,
  MAX_DRIVER_SCHEMA_CHARS,
  MAX_MACHINE_MESSAGE,
  MAX_MACHINE_NAME,
  MAX_NODE_NAME_BYTES,
  MAX_OBJECT_ID_BYTES,
  MAX_PLUGIN_ID_BYTES,
  MAX_TASK_EVENTS,
  nameLengthErrors,
  type Node,
  type NodeEvent,
  type TaskEvent,
  type TaskState,
} from '@waybill/model';

/*
 * Texts of machines, as they are stored. What tells a machine from others is refused when it is too long; everything else
 * is cut or left out: to refuse a report for one long message would lose the machine.
 */

/** Why a machine cannot be stored under its own names, or proven by its secret; undefined if it can. */
export function nodeNameProblem(node: Node): string | undefined {
  return [
    ...nameLengthErrors('node ID', node.ID, MAX_OBJECT_ID_BYTES),
    ...nameLengthErrors('node name', node.Name, MAX_NODE_NAME_BYTES),
    ...nameLengthErrors('datacenter', node.Datacenter, MAX_DATACENTER_BYTES),
    ...nameLengthErrors('node class', node.NodeClass, MAX_DATACENTER_BYTES),
    ...nameLengthErrors('node secret ID', node.SecretID, MAX_OBJECT_ID_BYTES),
    ...(isSignedToken(node.SecretID) ? ['node secret ID must not contain a dot, because signed identities do'] : []),
  ][0];
}

/**
 * The machine with its texts truncated, without members whose names are too long, and with whole numbers as amounts.
 */
export function withCutTexts(node: Node): Node {
  const { NodeResources: has, ReservedResources: keeps } = node;
  return {
    ...node,
    Attributes: cutValues(node.Attributes),
    Meta: cutValues(node.Meta),
    Links: cutValues(node.Links),
    StatusDescription: cutText(node.StatusDescription, MAX_MACHINE_MESSAGE),
    Events: node.Events.map(cutEvent),
    Drivers: mapNamed(node.Drivers, MAX_MACHINE_NAME, (driver) => ({
      ...driver,
      Attributes: cutValues(driver.Attributes),
      HealthDescription: cutText(driver.HealthDescription, MAX_MACHINE_MESSAGE),
      // Half a schema would refuse jobs, and an empty one refuses none (PG-47).
      ...((driver.TaskConfigSchema?.length ?? 0) > MAX_DRIVER_SCHEMA_CHARS && { TaskConfigSchema: '' }),
    })),
    CSIControllerPlugins: mapNamed(node.CSIControllerPlugins, MAX_PLUGIN_ID_BYTES, cutHealth),
    CSINodePlugins: mapNamed(node.CSINodePlugins, MAX_PLUGIN_ID_BYTES, cutHealth),
    HostVolumes: mapNamed(node.HostVolumes, MAX_MACHINE_NAME, (volume) => volume),
    HostNetworks: mapNamed(node.HostNetworks, MAX_MACHINE_NAME, (network) => network),
    NodeResources: {
      ...has,
      Cpu: { ...has.Cpu, CpuShares: Math.trunc(has.Cpu.CpuShares) },
      Memory: { ...has.Memory, MemoryMB: Math.trunc(has.Memory.MemoryMB) },
      Disk: { ...has.Disk, DiskMB: Math.trunc(has.Disk.DiskMB) },
    },
    ReservedResources: {
      ...keeps,
      Cpu: { ...keeps.Cpu, CpuShares: Math.trunc(keeps.Cpu.CpuShares) },
      Memory: { ...keeps.Memory, MemoryMB: Math.trunc(keeps.Memory.MemoryMB) },
      Disk: { ...keeps.Disk, DiskMB: Math.trunc(keeps.Disk.DiskMB) },
    },
  };
}

/** The event of a machine with its texts truncated. */
export const cutEvent = (event: NodeEvent): NodeEvent => ({
  ...event,
  Message: cutText(event.Message, MAX_MACHINE_MESSAGE),
  Subsystem: event.Subsystem,
  Details: cutValues(event.Details),
});

/** A machine's report on an allocation, with its texts truncated and the newest events of each task. */
export const withCutReport = (report: ClientAllocUpdate): ClientAllocUpdate => ({
  ...report,
  ClientDescription: cutText(report.ClientDescription, MAX_MACHINE_MESSAGE),
  TaskStates: mapNamed(report.TaskStates, MAX_MACHINE_NAME, cutState),
});

const cutState = (state: TaskState): TaskState => ({
  ...state,
  Events: state.Events.slice(-MAX_TASK_EVENTS).map(cutTaskEvent),
});

/**
 * Truncates the texts of an event. All but the longest are short, so checking their lengths is nearly the whole cost.
 */
function cutTaskEvent(event: TaskEvent): TaskEvent {
  let cut: TaskEvent | undefined;
  for (const [name, value] of Object.entries(event))
    if (typeof value === 'string' && value.length > MAX_MACHINE_MESSAGE)
      cut = { ...(cut ?? event), [name]: cutText(value, MAX_MACHINE_MESSAGE) };
  const Details = cutValues(event.Details);
  return Details === event.Details ? (cut ?? event) : { ...(cut ?? event), Details };
}

const cutHealth = <Info extends { readonly HealthDescription: string }>(info: Info): Info => ({
  ...info,
  HealthDescription: cutText(info.HealthDescription, MAX_MACHINE_MESSAGE),
});

function mapNamed<V>(members: Record<string, V>, maxName: number, map: (member: V) => V): Record<string, V> {
  const kept = Object.entries(members).filter(([name]) => nameLengthErrors('', name, maxName).length === 0);
  return Object.fromEntries(kept.map(([name, member]) => [name, map(member)]));
}
